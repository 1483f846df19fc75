/**
 * Installs the packed tarball into the applications of test/consumers, outside this repository, and uses it there as a
 * user would: compiled, required, imported, type-checked under every module resolution, and tested under a stock Jest.
 */
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startRedis } from './redis-process.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const templates = join(root, 'test/consumers');
const TSC = 'node_modules/typescript/bin/tsc';

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

/** nodenext is what `tsc -p .` of each uses. */
const RESOLUTIONS = {
  'nest11-cjs': { node10: 'commonjs', node16: 'node16', bundler: 'esnext' },
  'nest12-esm': { nodenext: 'nodenext', bundler: 'preserve' },
};

let passed = 0;
let failed = 0;

/** Runs one check and counts it; its output is shown only if it fails. */
async function check(name, run) {
  const startedAt = performance.now();
  try {
    await run();
    passed += 1;
  } catch (error) {
    failed += 1;
    console.log(`--- ${name}\n${error.message}`);
    return false;
  } finally {
    console.log(`    ${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${name}`);
  }
  return true;
}

/** @param {string} command @param {string[]} args @param {string} cwd @param {NodeJS.ProcessEnv} [env] @returns {Promise<string>} */
function run(command, args, cwd, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${command} ${args.join(' ')} exited with ${code}\n${output}`)),
    );
  });
}

async function pack(folder) {
  await run('npm', ['pack', '--pack-destination', folder], root);
  const tarball = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack made no tarball');
  return join(folder, tarball);
}

async function checkContents(tarball) {
  const files = (await run('tar', ['-tzf', tarball], root)).trim().split('\n');
  const unwanted = files.filter((file) => !SHIPPED.test(file));
  const missing = WANTED.filter((file) => !files.includes(`package/${file}`));
  if (unwanted.length + missing.length > 0) throw new Error(`unwanted: ${unwanted} missing: ${missing}`);
}

async function install(template, folder, tarball) {
  await cp(join(templates, 'shared'), folder, { recursive: true });
  await cp(join(templates, template), folder, { recursive: true });
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts'];
  await run('npm', ['install', ...flags, tarball], folder);
}

/** CommonJS TypeScript resolves './file', not './file.js'. */
async function dropExtensions(folder) {
  for (const file of await readdir(folder, { recursive: true })) {
    if (!file.endsWith('.ts')) continue;
    const text = await readFile(join(folder, file), 'utf8');
    await writeFile(join(folder, file), text.replace(/(from '\.{1,2}\/[^']+)\.js'/g, "$1'"));
  }
}

async function runJest(template, folder) {
  const specs = join(folder, 'src/e2e');
  await cp(join(root, 'test/e2e'), specs, { recursive: true });
  if (template.endsWith('cjs')) await dropExtensions(specs);
  const flags = template.endsWith('esm') ? ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'] : [];
  const redis = await startRedis();
  const report = join(folder, 'jest.json');
  try {
    const jest = [...flags, 'node_modules/jest/bin/jest.js', '--maxWorkers=1', '--json', `--outputFile=${report}`];
    await run(process.execPath, jest, folder, { E2E_REDIS_URL: redis.url });
  } finally {
    await redis.stop();
    const { numPassedTests = 0, numFailedTests = 0 } = await readFile(report, 'utf8').then(JSON.parse, () => ({}));
    passed += numPassedTests;
    failed += numFailedTests;
    console.log(`              ${template}: ${numPassedTests} tests passed, ${numFailedTests} failed`);
  }
}

const tsc = (folder, ...args) => run(process.execPath, [TSC, ...args], folder);
const node = (folder, script) => run(process.execPath, [script], folder);

/** @param {string} folder @param {string[]} args */
const cli = (folder, ...args) => run('npx', ['--no-install', 'nestjs-fenced-lock', ...args], folder);

/** From inside of its own command it shows that the lock is held. */
async function lockByCommand(folder) {
  const redis = await startRedis();
  try {
    const place = ['--node', redis.url];
    const output = await cli(folder, 'run', 'job:a', ...place, '--', 'npx', 'nestjs-fenced-lock', 'ls', ...place);
    if (!/^job:a /m.test(output)) throw new Error(`it does not show its lock: ${output}`);
    const after = await cli(folder, 'ls', ...place);
    if (after !== 'No locks.\n') throw new Error(`it left something: ${after}`);
  } finally {
    await redis.stop();
  }
}

async function useBare(folder, tarball) {
  const template = 'bare-esm';
  if (!(await check(`${template}: npm install, no optional package`, () => install(template, folder, tarball)))) return;
  await check(`${template}: loads and locks without them`, () => node(folder, 'without-peers.cjs'));
  await check(`${template}: compiles, library checks on`, () => run(process.execPath, [TSC, '-p', folder], root));
  await check(`${template}: runs`, () => node(folder, 'dist/main.js'));
  await check(`${template}: has a command line`, () => cli(folder, '--help'));
}

async function useNest(template, folder, tarball) {
  if (!(await check(`${template}: npm install`, () => install(template, folder, tarball)))) return;
  await check(`${template}: require and import give one copy`, () => node(folder, 'identity.cjs'));
  await check(`${template}: compiles, library checks on`, () => tsc(folder, '-p', '.'));
  await check(`${template}: runs`, () => node(folder, 'dist/main.js'));
  await check(`${template}: has a command line, which locks`, () => lockByCommand(folder));
  for (const [resolution, module] of Object.entries(RESOLUTIONS[template])) {
    const options = ['-p', 'tsconfig.types.json', '--module', module, '--moduleResolution', resolution];
    await check(`${template}: types under ${resolution}`, () => tsc(folder, ...options));
  }
  // Their own types, with three copies of a Redis client, are slow to check and not ours to answer for.
  const clients = ['-p', 'tsconfig.clients.json', '--skipLibCheck'];
  await check(`${template}: takes clients of every supported library`, () => tsc(folder, ...clients));
  await check(`${template}: stock Jest`, () => runJest(template, folder));
}

const folder = await mkdtemp(join(tmpdir(), 'consumers-'));
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.once(signal, () => rm(folder, { recursive: true, force: true }).finally(() => process.exit(1)));
}
try {
  const tarball = await pack(folder);
  await check('the tarball holds what it should', () => checkContents(tarball));
  await Promise.all([
    useNest('nest11-cjs', join(folder, 'nest11-cjs'), tarball),
    useNest('nest12-esm', join(folder, 'nest12-esm'), tarball),
    useBare(join(folder, 'bare-esm'), tarball),
  ]);
} finally {
  await rm(folder, { recursive: true, force: true });
}
console.log(`consumers: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
