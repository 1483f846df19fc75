import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer } from './find-servers.mjs';
import { freePort } from './free-port.mjs';
import { removeFolder, startServer } from './server-process.mjs';

/**
 * A redis-server on a free loopback port, with nothing on disk that outlives it. `kill` is a crash; `restart` brings it back on its port, empty.
 * @returns {Promise<{ url: string, kill(): Promise<void>, restart(): Promise<void>, stop(): Promise<void> }>}
 */
export async function startRedis() {
  const command = findRedisServer();
  if (command === undefined) throw new Error('No redis-server here; `node scripts/setup.mjs` installs one.');
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'redis-'));
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
  const launch = () => startServer({ command, args, folder, readyWhen: 'Ready to accept connections' });
  let server = launch();
  let stopped = false;
  const kill = async () => (await server).stop('SIGKILL');
  const relaunch = async () => {
    await kill();
    if (stopped) throw new Error(`The redis-server on port ${port} has been stopped for good.`);
    return launch();
  };
  const stop = async () => {
    stopped = true;
    await kill().catch(() => undefined); // it never ran
    await removeFolder(folder);
  };
  try {
    await server;
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `redis://127.0.0.1:${port}`, kill, restart: async () => void (await (server = relaunch())), stop };
}
