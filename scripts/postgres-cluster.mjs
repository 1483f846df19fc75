import { execFile, spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findPostgresBin } from './find-servers.mjs';
import { reapWithParent } from './reaper.mjs';
import { unprivileged } from './unprivileged.mjs';

/** For a server on loopback that is thrown away in the end. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '16MB',
};

/**
 * How to run a server over a new database cluster in this folder, which is empty and for it alone.
 * @param {string} folder
 * @returns {Promise<{ command: string, argsFor(port: number): string[], options: import('node:child_process').CommonSpawnOptions }>}
 */
export async function createCluster(folder) {
  if (unprivileged.uid !== undefined) await chown(folder, unprivileged.uid, unprivileged.gid ?? unprivileged.uid);
  const bin = runnableBin(folder);
  const data = join(folder, 'data');
  const env = { PATH: process.env['PATH'], HOME: folder, LC_ALL: 'C', TZ: 'UTC' };
  const options = { ...unprivileged, cwd: folder, env };
  const how = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  const reaper = reapWithParent(folder);
  const initdb = promisify(execFile)(join(bin, 'initdb'), ['-D', data, ...how], options);
  if (initdb.child.pid !== undefined) reaper.watch(initdb.child.pid);
  await initdb.finally(reaper.done);
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return {
    command: join(bin, 'postgres'),
    argsFor: (port) => ['-D', data, '-p', String(port), ...settings],
    options,
  };
}

/** What a server says when it is ready. */
export const POSTGRES_READY = 'ready to accept connections';

/** @param {number} port */
export function postgresUrl(port) {
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

/**
 * A clone below root's home cannot be read by "nobody"; then the server runs from a copy.
 * @param {string} folder
 */
function runnableBin(folder) {
  const bin = findPostgresBin();
  if (!bin) throw new Error('PostgreSQL was not found: run `node scripts/setup.mjs`');
  const trial = spawnSync(join(bin, 'postgres'), ['--version'], { ...unprivileged, cwd: '/', stdio: 'ignore' });
  if (trial.status === 0) return bin;
  const copy = join(folder, 'server');
  cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}
