import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Entrant } from './entrant.js';
import { murlock } from './peers/murlock.js';
import { isInstalled } from './peers/peer.js';
import { redisKit } from './peers/redis-kit.js';
import { redisSemaphore } from './peers/redis-semaphore.js';
import { redlockUniversal } from './peers/redlock-universal.js';
import { redlock4, redlock5, sesamecareRedlock } from './peers/redlock.js';
import { verrou } from './peers/verrou.js';

export const PEERS: readonly Entrant[] = [
  redlock4,
  redlock5,
  sesamecareRedlock,
  redisSemaphore,
  redlockUniversal,
  verrou,
  redisKit,
  murlock,
];

/** Installs what `bench/package-lock.json` pins, unless it is there. Never throws: a bench without peers is still one. */
export async function installPeers(log: (line: string) => void): Promise<void> {
  if (PEERS.every(({ id }) => isInstalled(id))) return;
  log('Installing the peers into bench/node_modules (once) …');
  const arguments_ = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const code = await new Promise((resolve) => {
    const npm = spawn('npm', arguments_, {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    npm.on('error', resolve);
    npm.on('close', resolve);
  });
  if (code !== 0) log(`The peers could not be installed (${String(code)}); the bench goes on without them.`);
}
