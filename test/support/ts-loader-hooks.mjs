import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';

const packageEntries = {
  'nestjs-fenced-lock': new URL('../../lib/index.ts', import.meta.url).href,
  'nestjs-fenced-lock/postgres': new URL('../../lib/stores/postgres/index.ts', import.meta.url).href,
  'nestjs-fenced-lock/dashboard': new URL('../../lib/dashboard/index.ts', import.meta.url).href,
  'nestjs-fenced-lock/terminus': new URL('../../lib/terminus/index.ts', import.meta.url).href,
  'nestjs-fenced-lock/testing': new URL('../../lib/testing/index.ts', import.meta.url).href,
};

export async function resolve(specifier, context, next) {
  const entry = packageEntries[specifier];
  if (entry) return { url: entry, format: 'module', shortCircuit: true };
  if (/^\.{1,2}\/.*\.js$/.test(specifier) && context.parentURL?.endsWith('.ts')) {
    const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
    if (existsSync(source)) return { url: source.href, format: 'module', shortCircuit: true };
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
  const filename = fileURLToPath(url);
  const { code } = await transform(await readFile(filename, 'utf8'), {
    filename,
    swcrc: false,
    configFile: false,
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
      target: 'es2022',
      keepClassNames: true,
    },
    module: { type: 'es6' },
    sourceMaps: 'inline',
  });
  return { format: 'module', source: code, shortCircuit: true };
}
