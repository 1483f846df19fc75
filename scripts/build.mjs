/** Builds dist/esm and dist/cjs, and fails when either has a type error or types that need an optional package. */
import { build } from 'esbuild';
import { spawn } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

/** What every user of the package has installed, so what its types may name. */
const AVAILABLE = /^(node:.+|@nestjs\/(common|core)|rxjs|reflect-metadata)$/;

/** @param {string} project */
function compile(project) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [tsc, '-p', project], { cwd: root, stdio: 'inherit' });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve(undefined) : reject(new Error(`tsc -p ${project} failed`))));
  });
}

/** @param {string} folder */
async function foreignTypes(folder) {
  const found = [];
  for (const file of await readdir(folder, { recursive: true })) {
    if (!file.endsWith('.d.ts')) continue;
    const text = await readFile(join(folder, file), 'utf8');
    const specifiers = text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*|\btypes=)["']([^"']+)["']/g);
    for (const [, specifier = ''] of specifiers) {
      if (!specifier.startsWith('.') && !AVAILABLE.test(specifier)) found.push(`${join(folder, file)}: ${specifier}`);
    }
  }
  return found;
}

/**
 * An `import()` of an optional package inside a `try` becomes a `require()` inside a callback, where bundlers do not see the `try` any more: they would refuse to
 * build an application without the package.
 * @param {string} folder
 */
async function requireInsideTry(folder) {
  for (const file of await readdir(folder, { recursive: true })) {
    if (!file.endsWith('.js')) continue;
    const text = await readFile(join(folder, file), 'utf8');
    const direct = text.replace(
      /await Promise\.resolve\(\)\.then\(\(\) => (__importStar\(require\('[^']+'\)\))\)/g,
      'await $1',
    );
    if (direct !== text) await writeFile(join(folder, file), direct);
  }
}

/**
 * The dashboard's page is made of the texts of functions, which a bundler changes when it takes the package apart: it renames its own helpers, and leaves them behind.
 * So what is shipped is the page's program as one text.
 */
async function writePageScript() {
  const name = 'dashboard/page/script.js';
  const { pageScript } = await import(pathToFileURL(join(root, 'dist/esm', name)).href);
  const text = JSON.stringify(pageScript);
  await writeFile(join(root, 'dist/esm', name), `export const pageScript = ${text};\n`);
  const commonJs = `"use strict";\nObject.defineProperty(exports, "__esModule", { value: true });\nexports.pageScript = ${text};\n`;
  await writeFile(join(root, 'dist/cjs', name), commonJs);
  await Promise.all(outputs.map((output) => rm(join(output, 'dashboard/page/client'), { recursive: true })));
}

/** @returns {Promise<string[]>} the files that users load by name: what package.json exports, and the command line. */
async function entries() {
  const { exports, bin } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const modules = Object.values(exports).flatMap((conditions) => conditions.import?.default ?? []);
  return [...modules, ...Object.values(bin)].map((path) => join(root, path));
}

/**
 * Node takes most of a millisecond for each ES module that it loads, so one import would cost more than all the rest: what is loaded together is put into one file. Names of
 * classes stay as they are, since Nest and messages show them.
 */
async function joinModules() {
  const folder = join(root, 'dist/esm');
  const { metafile } = await build({
    entryPoints: await entries(),
    ...{ outdir: folder, outbase: folder, chunkNames: 'shared/[hash]', allowOverwrite: true, metafile: true },
    ...{ bundle: true, splitting: true, packages: 'external', keepNames: true },
    ...{ format: 'esm', platform: 'node', target: 'node20', logLevel: 'warning', absWorkingDir: root },
  });
  const written = new Set(Object.keys(metafile.outputs).map((path) => resolve(root, path)));
  for (const file of await readdir(folder, { recursive: true })) {
    const path = join(folder, file);
    if (file.endsWith('.js') && !written.has(path)) await rm(path);
  }
}

const outputs = ['dist/esm', 'dist/cjs'].map((output) => join(root, output));
await Promise.all(outputs.map((output) => rm(output, { recursive: true, force: true })));

const results = await Promise.allSettled([compile('tsconfig.build.json'), compile('tsconfig.cjs.json')]);
const failures = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason.message)] : []));

if (failures.length === 0) {
  // The package is "type": "module"; this half of it is not.
  await writeFile(join(root, 'dist/cjs/package.json'), `${JSON.stringify({ type: 'commonjs' })}\n`);
  await writePageScript();
  await requireInsideTry(join(root, 'dist/cjs'));
  await joinModules();
  const foreign = (await Promise.all(outputs.map(foreignTypes))).flat();
  failures.push(...foreign.map((line) => `emitted types need a package that users may not have: ${line}`));
}

for (const failure of failures) console.error(failure);
process.exitCode = failures.length === 0 ? 0 : 1;
