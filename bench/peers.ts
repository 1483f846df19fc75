import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { connectAll, disconnectAll } from './connections.js';
import { POLL_MS, TTL_MS, type OpenLocker } from './locker.js';

const folder = new URL('./peers/', import.meta.url);
const require = createRequire(new URL('package.json', folder));

/** Installs what `peers/package-lock.json` pins, unless it is there. Never throws: a bench without peers is still one. */
export async function installPeers(log: (line: string) => void): Promise<void> {
  if (PEERS.every(({ id }) => isInstalled(id))) return;
  log('Installing the peers into bench/peers (once) …');
  const arguments_ = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const code = await new Promise((resolve) => {
    const npm = spawn('npm', arguments_, { cwd: fileURLToPath(folder), stdio: ['ignore', 'ignore', 'inherit'] });
    npm.on('error', resolve);
    npm.on('close', resolve);
  });
  if (code !== 0) log(`The peers could not be installed (${String(code)}); the bench goes on without them.`);
}

function isInstalled(id: string): boolean {
  try {
    require.resolve(id);
    return true;
  } catch {
    return false;
  }
}

export interface Peer {
  readonly id: string;
  readonly name: string;
  readonly open: OpenLocker;
}

const FOR_EVER = 1_000_000;

function peer(id: string, name: string, open: OpenLocker): Peer {
  return {
    id,
    name,
    open: async (options) => {
      if (!isInstalled(id)) return { name, reason: 'not installed' };
      return open(options).catch((error: unknown) => ({ name, reason: String(error) }));
    },
  };
}

const redlock4 = peer('redlock', 'redlock 4.2.0', async ({ urls, waits }) => {
  const clients = await connectAll(urls);
  const Redlock = require('redlock');
  const redlock = new Redlock(clients, { retryCount: waits ? -1 : 0, retryDelay: POLL_MS, retryJitter: POLL_MS / 2 });
  return {
    name: 'redlock 4.2.0',
    async lock(key, work) {
      const lock = await redlock.lock(key, TTL_MS);
      await work?.();
      await lock.unlock();
    },
    close: () => disconnectAll(clients),
  };
});

const redlock5 = peer('redlock5', 'redlock 5.0.0-beta.2', async ({ urls, waits }) => {
  const clients = await connectAll(urls);
  const { default: Redlock } = require('redlock5');
  const redlock = new Redlock(clients, { retryCount: waits ? -1 : 0, retryDelay: POLL_MS, retryJitter: POLL_MS / 2 });
  return {
    name: 'redlock 5.0.0-beta.2',
    async lock(key, work) {
      const lock = await redlock.acquire([key], TTL_MS);
      await work?.();
      await lock.release();
    },
    close: () => disconnectAll(clients),
  };
});

const redisSemaphore = peer('redis-semaphore', 'redis-semaphore 5.8.0', async ({ urls, waits }) => {
  const clients = await connectAll(urls);
  const { Mutex, RedlockMutex } = require('redis-semaphore');
  const options = {
    lockTimeout: TTL_MS,
    retryInterval: POLL_MS,
    acquireTimeout: waits ? 60_000 : 1000,
    acquireAttemptsLimit: waits ? FOR_EVER : 1,
  };
  return {
    name: 'redis-semaphore 5.8.0',
    async lock(key, work) {
      const mutex =
        clients.length === 1 ? new Mutex(clients[0], key, options) : new RedlockMutex(clients, key, options);
      await mutex.acquire();
      await work?.();
      await mutex.release();
    },
    close: () => disconnectAll(clients),
  };
});

const redlockUniversal = peer('redlock-universal', 'redlock-universal 0.8.5', async ({ urls, waits }) => {
  const clients = await connectAll(urls);
  const { createLock, createRedlock, IoredisAdapter } = require('redlock-universal');
  const adapters = clients.map((client) => new IoredisAdapter(client));
  const options = { ttl: TTL_MS, retryAttempts: waits ? FOR_EVER : 0, retryDelay: POLL_MS };
  return {
    name: 'redlock-universal 0.8.5',
    async lock(key, work) {
      const lock =
        adapters.length === 1
          ? createLock({ adapter: adapters[0], key, ...options })
          : createRedlock({ adapters, key, ...options });
      const handle = await lock.acquire();
      await work?.();
      await lock.release(handle);
    },
    close: () => disconnectAll(clients),
  };
});

const murlock = peer('murlock', 'murlock 4.4.0', async ({ urls, waits }) => {
  const name = 'murlock 4.4.0';
  if (urls.length > 1) return { name, reason: 'it locks on one Redis only' };
  // Its own Nest, beside the one of the module under test.
  require('reflect-metadata');
  const { NestFactory } = require('@nestjs/core');
  const { MurLockModule, MurLockService } = require('murlock');
  const module = MurLockModule.forRoot({
    redisOptions: { url: urls[0] },
    wait: POLL_MS,
    maxAttempts: waits ? FOR_EVER : 1,
    // 'none' would log everything.
    logLevel: 'error',
    blocking: waits,
  });
  const app = await NestFactory.createApplicationContext(module, { logger: false });
  const service = app.get(MurLockService);
  const nothing = async (): Promise<void> => undefined;
  return {
    name,
    lock: (key, work = nothing) => service.runWithLock(key, TTL_MS, work),
    close: () => app.close(),
  };
});

export const PEERS: readonly Peer[] = [redlock4, redlock5, redisSemaphore, redlockUniversal, murlock];
