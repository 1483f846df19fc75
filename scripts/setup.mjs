/** Makes sure that the real servers the tests run against are there; fails loudly when they cannot be had. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPgBouncer, findPostgresBin, findRedisServer, postgresPackage, serverCache } from './find-servers.mjs';

const postgresVersion = '18.4.0-beta.17';

const help = {
  'redis-server': {
    linux: 'sudo apt-get update && sudo apt-get install -y redis-server',
    darwin: 'brew install redis',
    variable: 'REDIS_SERVER_BIN=/path/to/redis-server',
  },
  PostgreSQL: {
    linux: 'sudo apt-get update && sudo apt-get install -y postgresql',
    darwin: 'brew install postgresql@17',
    variable: 'POSTGRES_BIN=/folder/with/initdb/and/postgres',
  },
  pgbouncer: {
    linux: 'sudo apt-get update && sudo apt-get install -y pgbouncer',
    darwin: 'brew install pgbouncer',
    variable: 'PGBOUNCER_BIN=/path/to/pgbouncer',
  },
};

try {
  ensure('redis-server', findRedisServer, [() => aptInstall('redis-server')]);
  ensure('PostgreSQL', findPostgresBin, [npmInstallPostgres, () => aptInstall('postgresql')]);
  ensure('pgbouncer', findPgBouncer, [() => aptInstall('pgbouncer')]);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

function ensure(name, find, installs) {
  if (find()) return;
  for (const install of installs) {
    install();
    if (find()) return;
  }
  const { linux, darwin, variable } = help[name];
  throw new Error(
    [
      `The tests need ${name}, and it could be neither found nor installed here. Install it with`,
      `  Linux (Debian, Ubuntu): ${linux}`,
      `  macOS:                  ${darwin}`,
      `or say where it is: ${variable}`,
    ].join('\n'),
  );
}

function aptInstall(debianPackage) {
  const isRoot = process.getuid?.() === 0;
  if (process.platform !== 'linux' || !isRoot || !run('apt-get', ['--version'], { stdio: 'ignore' })) return;
  withoutServiceStart(() => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    run('apt-get', ['update', '-q'], { env }) &&
      run('apt-get', ['install', '-y', '-q', '--no-install-recommends', debianPackage], { env });
  });
}

/** Debian's packages start a system service on installation, which the tests neither need nor want. */
function withoutServiceStart(install) {
  const policy = '/usr/sbin/policy-rc.d';
  if (existsSync(policy)) return install();
  writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    install();
  } finally {
    rmSync(policy, { force: true });
  }
}

/** Installed apart from the project, so that neither package.json nor the rest of node_modules is touched. */
function npmInstallPostgres() {
  mkdirSync(serverCache, { recursive: true });
  writeFileSync(join(serverCache, 'package.json'), '{ "private": true }\n');
  const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts'];
  run('npm', ['install', '--prefix', serverCache, ...flags, `${postgresPackage}@${postgresVersion}`]);
  const folder = join(serverCache, 'node_modules', postgresPackage);
  // npm tarballs carry no symbolic links; the package's own install script makes those of its libraries
  if (existsSync(folder)) run(process.execPath, [join('scripts', 'hydrate-symlinks.js')], { cwd: folder });
}

function run(command, args, options = {}) {
  if (options.stdio !== 'ignore') console.log(`setup: ${command} ${args.join(' ')}`);
  return spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options }).status === 0;
}
