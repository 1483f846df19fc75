import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { check, figure } from './checks.mjs';
import { node, root, run } from './commands.mjs';

const SHIPPED =
  /^package\/(dist\/(esm|cjs)\/.+\.(js|d\.ts)|dist\/cjs\/package\.json|package\.json|README\.md|LICENSE|CHANGELOG\.md)$/;
const WANTED = [
  'README.md',
  'LICENSE',
  'CHANGELOG.md',
  'dist/esm/index.js',
  'dist/cjs/index.d.ts',
  'dist/esm/testing/index.d.ts',
  'dist/esm/cli/main.js',
];

const KB = 1024;
/** What importing one entry may load of ours; of the others, beside what the main entry loads. */
const LARGEST_ENTRY = 150 * KB;
/** Far from what is measured: a busy machine makes both late, and not by the same. */
const LONGEST_IMPORT = 1;
const IMPORTS = 7;

export async function checkTarball(tarball) {
  await check('the tarball holds what it should', () => checkContents(tarball));
  await check('publint has nothing to say', () =>
    node(root, 'node_modules/publint/src/cli.js', 'run', tarball, '--strict'),
  );
  await check('its types are found as its code is, under every resolution', () =>
    node(root, 'node_modules/@arethetypeswrong/cli/dist/index.js', tarball, '--no-emoji'),
  );
}

async function checkContents(tarball) {
  const files = (await run('tar', ['-tzf', tarball], root)).trim().split('\n');
  const unwanted = files.filter((file) => !SHIPPED.test(file));
  const missing = WANTED.filter((file) => !files.includes(`package/${file}`));
  if (unwanted.length + missing.length > 0) throw new Error(`unwanted: ${unwanted} missing: ${missing}`);
}

/** @param {string} folder an application that has it installed */
export async function checkSizes(folder) {
  const packageFolder = join(folder, 'node_modules/nestjs-fenced-lock');
  const { exports } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'));
  const main = await loadedBy(join(packageFolder, exports['.'].import.default));
  for (const [entry, conditions] of Object.entries(exports)) {
    if (typeof conditions === 'string') continue;
    const name = entry.replace('.', 'nestjs-fenced-lock');
    const loaded = await loadedBy(join(packageFolder, conditions.import.default));
    const counted = [...loaded].filter(([file]) => entry === '.' || !main.has(file));
    const bytes = counted.reduce((sum, [, size]) => sum + size, 0);
    figure(`${name}: ${(bytes / KB).toFixed(0)} KB in ${counted.length} files${entry === '.' ? '' : ' of its own'}`);
    if (bytes > LARGEST_ENTRY) throw new Error(`importing ${name} loads ${bytes} bytes; ${LARGEST_ENTRY} are allowed`);
  }
}

/** The files that are there once `file` is imported, and their sizes; not what an `import()` brings later. */
async function loadedBy(file) {
  const found = new Map();
  const waiting = [resolve(file)];
  for (let next; (next = waiting.pop()) !== undefined;) {
    if (found.has(next)) continue;
    const text = await readFile(next, 'utf8');
    found.set(next, Buffer.byteLength(text));
    for (const [, specifier = ''] of text.matchAll(/^(?:import|export)\b[^;]*?['"](\.[^'"]+)['"]/gm)) {
      waiting.push(resolve(dirname(next), specifier));
    }
  }
  return found;
}

/** How long importing it takes in a process that has Nest, beside what Nest itself takes. */
export async function checkImportTime(folder) {
  const script = `
    const times = [performance.now()];
    for (const packages of [['reflect-metadata', '@nestjs/common', '@nestjs/core', 'rxjs'], ['nestjs-fenced-lock']]) {
      for (const name of packages) await import(name);
      times.push(performance.now());
    }
    console.log(times.slice(1).map((time, index) => time - times[index]).join(' '));`;
  const measured = [];
  for (let index = 0; index < IMPORTS; index++) {
    measured.push((await node(folder, '--input-type=module', '--eval', script)).trim().split(' ').map(Number));
  }
  const median = (index) => measured.map((each) => each[index]).sort((a, b) => a - b)[IMPORTS >> 1];
  const [nest, ours] = [median(0), median(1)];
  figure(
    `importing Nest takes ${nest.toFixed(0)} ms, and the package ${ours.toFixed(0)} ms more (medians of ${IMPORTS})`,
  );
  if (ours > nest * LONGEST_IMPORT) throw new Error(`the package takes ${ours} ms, Nest ${nest} ms`);
}
