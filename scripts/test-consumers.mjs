/**
 * Installs the packed tarball into the applications of test/consumers, outside this repository, and uses it there as a user would: compiled, bundled, required,
 * imported, type-checked under every module resolution, tested under stock runners, and run on every supported line of Node.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkRuntime, useBare, useNest11, useNest12, useOldest } from './consumers/applications.mjs';
import { check, totals } from './consumers/checks.mjs';
import { pack } from './consumers/commands.mjs';
import { installNodes } from './consumers/runtimes.mjs';
import { checkImportTime, checkSizes, checkTarball } from './consumers/tarball.mjs';

const APPLICATIONS = { 'nest11-cjs': useNest11, 'nest12-esm': useNest12, 'oldest-cjs': useOldest, 'bare-esm': useBare };

const folder = await mkdtemp(join(tmpdir(), 'consumers-'));
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.once(signal, () => rm(folder, { recursive: true, force: true }).finally(() => process.exit(1)));
}
try {
  const tarball = await pack(folder);
  const place = (template) => join(folder, template);
  const nodes = [];
  const used = await Promise.all([
    checkTarball(tarball),
    check('other lines of Node: npm install', async () => nodes.push(...(await installNodes(place('nodes'))))),
    ...Object.entries(APPLICATIONS).map(async ([template, use]) =>
      (await use(place(template), tarball)) ? [template] : [],
    ),
  ]);
  // Alone, or the others would be measured with it.
  await check('no entry is large', () => checkSizes(place('bare-esm')));
  await check('importing it takes less than importing Nest', () => checkImportTime(place('bare-esm')));
  for (const template of used.flat().filter((each) => each === 'nest11-cjs' || each === 'nest12-esm')) {
    for (const node of nodes) await checkRuntime(place(template), template, node);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
const { passed, failed } = totals();
console.log(`consumers: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
