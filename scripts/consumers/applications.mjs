import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { check, countTests } from './checks.mjs';
import { install, node, root, run, tsc, withRedis } from './commands.mjs';

const ROOT_TSC = join(root, 'node_modules/typescript/bin/tsc');

/** nodenext is what `tsc -p .` of each uses. */
const RESOLUTIONS = {
  'oldest-cjs': { node10: 'commonjs', node16: 'node16' },
  'nest11-cjs': { node10: 'commonjs', bundler: 'esnext' },
  'nest12-esm': { node16: 'node16', bundler: 'preserve' },
};

/**
 * No optional package, whether it runs as it is or is bundled.
 * @returns {Promise<boolean>} whether it is installed
 */
export async function useBare(folder, tarball) {
  const template = 'bare-esm';
  if (!(await check(`${template}: npm install, no optional package`, () => install(template, folder, tarball)))) {
    return false;
  }
  await check(`${template}: loads and locks without them`, () => node(folder, 'without-peers.cjs'));
  await check(`${template}: compiles, library checks on`, () => node(folder, ROOT_TSC, '-p', '.'));
  await check(`${template}: types of every entry`, () => node(folder, ROOT_TSC, '-p', 'tsconfig.types.json'));
  await check(`${template}: runs`, () => node(folder, 'dist/main.js'));
  await check(`${template}: has a command line`, () => cli(folder, '--help'));
  await check(`${template}: esbuild bundles it, minified, without them`, () => node(folder, 'bundle.mjs'));
  for (const bundle of ['bundle/main.mjs', 'bundle/without-peers.cjs']) {
    await check(`${template}: ${bundle} runs`, () => node(folder, bundle));
  }
  await check(`${template}: the page of the dashboard is the same in a bundle`, async () => {
    const [page, bundled] = [await node(folder, 'dashboard.cjs'), await node(folder, 'bundle/dashboard.cjs')];
    if (page !== bundled || !page.includes('<script')) throw new Error(`${page}\nis not\n${bundled}`);
  });
  return true;
}

/** The lowest version of each peer. */
export async function useOldest(folder, tarball) {
  return useNest('oldest-cjs', folder, tarball);
}

export async function useNest11(folder, tarball) {
  const template = 'nest11-cjs';
  if (!(await useNest(template, folder, tarball))) return false;
  await checkClients(template, folder);
  await check(`${template}: nest build with webpack, all in one file`, () =>
    node(folder, 'node_modules/@nestjs/cli/bin/nest.js', 'build', '--builder', 'webpack'),
  );
  await check(`${template}: what webpack made runs`, () => node(folder, 'dist-webpack/main.js'));
  await check(`${template}: stock ts-jest`, () => runJest(template, folder));
  return true;
}

export async function useNest12(folder, tarball) {
  const template = 'nest12-esm';
  if (!(await useNest(template, folder, tarball))) return false;
  await checkClients(template, folder);
  await check(`${template}: nest build with swc`, () => node(folder, 'node_modules/@nestjs/cli/bin/nest.js', 'build'));
  await check(`${template}: what swc made runs`, () => node(folder, 'dist-swc/main.js'));
  await check(`${template}: Vitest`, () => runVitest(template, folder));
  await check(`${template}: Jest`, () => runJest(template, folder));
  return true;
}

/** On another Node, what it is there for: the one it was built with has done all else. */
export async function checkRuntime(folder, template, { version, binary }) {
  await check(`${template}: Node ${version}`, () =>
    withRedis(async (env) => {
      for (const script of ['identity.cjs', 'dist/main.js', 'redis.cjs']) await run(binary, [script], folder, env);
      if (template === 'nest12-esm') await run(binary, ['--test', 'contract.test.mjs'], folder, env);
    }),
  );
}

async function useNest(template, folder, tarball) {
  if (!(await check(`${template}: npm install`, () => install(template, folder, tarball)))) return false;
  await check(`${template}: require and import give one copy`, () => node(folder, 'identity.cjs'));
  await check(`${template}: compiles, library checks on`, () => tsc(folder, '-p', '.'));
  await check(`${template}: runs`, () => node(folder, 'dist/main.js'));
  await check(`${template}: locks on Redis`, () =>
    withRedis((env) => run(process.execPath, ['redis.cjs'], folder, env)),
  );
  await check(`${template}: has a command line, which locks`, () => withRedis((env) => lockByCommand(folder, env)));
  for (const [resolution, module] of Object.entries(RESOLUTIONS[template])) {
    const options = ['-p', 'tsconfig.types.json', '--module', module, '--moduleResolution', resolution];
    await check(`${template}: types under ${resolution}`, () => tsc(folder, ...options));
  }
  return true;
}

/** Their own types, with three copies of a Redis client, are slow to check and not ours to answer for. */
async function checkClients(template, folder) {
  const clients = ['-p', 'tsconfig.clients.json', '--skipLibCheck'];
  await check(`${template}: takes clients of every supported library`, () => tsc(folder, ...clients));
}

/** @param {string} folder @param {string[]} args */
const cli = (folder, ...args) => run('npx', ['--no-install', 'nestjs-fenced-lock', ...args], folder);

/** From inside of its own command it shows that the lock is held. */
async function lockByCommand(folder, env) {
  const place = ['--node', env.REDIS_URL];
  const output = await cli(folder, 'run', 'job:a', ...place, '--', 'npx', 'nestjs-fenced-lock', 'ls', ...place);
  if (!/^job:a /m.test(output)) throw new Error(`it does not show its lock: ${output}`);
  const after = await cli(folder, 'ls', ...place);
  if (after !== 'No locks.\n') throw new Error(`it left something: ${after}`);
}

async function runJest(template, folder) {
  const specs = join(folder, 'src/e2e');
  await cp(join(root, 'test/e2e'), specs, { recursive: true });
  if (template.endsWith('cjs')) await dropExtensions(specs);
  const flags = template.endsWith('esm') ? ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'] : [];
  const jest = [...flags, 'node_modules/jest/bin/jest.js', '--maxWorkers=1'];
  await runTests(template, folder, jest);
}

const runVitest = (template, folder) =>
  runTests(template, folder, ['node_modules/vitest/vitest.mjs', 'run', '--reporter=default', '--reporter=json']);

/** Both write the same report. */
async function runTests(template, folder, command) {
  const report = join(folder, 'report.json');
  await writeFile(report, '{}');
  try {
    const args = [
      ...command,
      ...(command.some((arg) => arg.includes('jest')) ? ['--json'] : []),
      `--outputFile=${report}`,
    ];
    await withRedis((env) => run(process.execPath, args, folder, env));
  } finally {
    const { numPassedTests = 0, numFailedTests = 0 } = await readFile(report, 'utf8').then(JSON.parse);
    countTests(template, numPassedTests, numFailedTests);
  }
}

/** CommonJS TypeScript resolves './file', not './file.js'. */
async function dropExtensions(folder) {
  for (const file of await readdir(folder, { recursive: true })) {
    if (!file.endsWith('.ts')) continue;
    const text = await readFile(join(folder, file), 'utf8');
    await writeFile(join(folder, file), text.replace(/(from '\.{1,2}\/[^']+)\.js'/g, "$1'"));
  }
}
