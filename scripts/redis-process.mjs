import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findRedisServer } from './find-servers.mjs';

const START_LIMIT_MS = 20_000;

/**
 * A redis-server on a free loopback port, with nothing on disk that outlives it.
 * @returns {Promise<{ url: string, stop: () => Promise<void> }>}
 */
export async function startRedis() {
  const binary = findRedisServer();
  if (binary === undefined) throw new Error('No redis-server here; `node scripts/setup.mjs` installs one.');
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'redis-'));
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
  const child = spawn(binary, args, { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
  const orphaned = () => child.kill('SIGKILL');
  process.once('exit', orphaned);

  const stop = async () => {
    process.off('exit', orphaned);
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const givenUpAt = performance.now() + START_LIMIT_MS;
  while (!(await answers(port))) {
    if (child.exitCode !== null || performance.now() > givenUpAt) {
      await stop();
      throw new Error(`${binary} did not answer on port ${port}`);
    }
    await delay(20);
  }
  return { url: `redis://127.0.0.1:${port}`, stop };
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

/** @param {number} port @returns {Promise<boolean>} */
function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    const settle = (/** @type {boolean} */ answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('data', (reply) => settle(reply.toString().startsWith('+PONG')));
    socket.once('error', () => settle(false)).setTimeout(500, () => settle(false));
  });
}
