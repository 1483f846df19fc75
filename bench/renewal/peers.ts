import type { Redis } from 'ioredis';
import { connectAll } from '../connections.js';
import { isInstalled, require } from '../peers/peer.js';
import type { KeeperEntrant } from './keeper.js';

/** Keeps one lock until `over`; says whether it was lost meanwhile. */
type KeepOne = (key: string, ttlMs: number, taken: () => void, over: Promise<void>) => Promise<boolean>;

/** Those that renew by themselves. */
export const PEER_KEEPERS: readonly KeeperEntrant[] = [
  keeper('redlock5', 'redlock 5.0.0-beta.2', async (url) => {
    const { default: Redlock } = require('redlock5');
    return usingRedlock(new Redlock(await connectAll([url]), { retryCount: 0 }));
  }),
  keeper('@sesamecare-oss/redlock', '@sesamecare-oss/redlock 1.4.0', async (url) => {
    const { Redlock } = require('@sesamecare-oss/redlock');
    return usingRedlock(new Redlock(await connectAll([url]), { retryCount: 0 }));
  }),
  keeper('redis-semaphore', 'redis-semaphore 5.8.0', async (url) => {
    const { Mutex } = require('redis-semaphore');
    const client = await connect(url);
    return async (key, ttlMs, taken, over) => {
      let lost = false;
      const mutex = new Mutex(client, key, {
        lockTimeout: ttlMs,
        acquireTimeout: 1000,
        onLockLost: () => (lost = true),
      });
      await mutex.acquire();
      taken();
      await over;
      await mutex.release();
      return lost;
    };
  }),
  keeper('redlock-universal', 'redlock-universal 0.8.5', async (url) => {
    const { createLock, IoredisAdapter } = require('redlock-universal');
    const adapter = new IoredisAdapter(await connect(url));
    return (key, ttlMs, taken, over) =>
      createLock({ adapter, key, ttl: ttlMs, retryAttempts: 0 }).using(whileKept(taken, over));
  }),
  keeper('@redis-kit/lock', '@redis-kit/lock 0.1.0-3', async (url) => {
    const { Redlock } = require('@redis-kit/lock');
    const { createClient } = require('redis');
    const client = createClient({ url }).on('error', () => undefined);
    await client.connect();
    const redlock = new Redlock([client], { maxRetryAttempts: 0 });
    return async (key, ttlMs, taken, over) => {
      const lock = await redlock.acquire(key, ttlMs);
      lock.startAutoExtension();
      taken();
      await over;
      // It tells only when it is asked.
      return !(await lock.release());
    };
  }),
];

function keeper(id: string, name: string, open: (url: string) => Promise<KeepOne>): KeeperEntrant {
  return {
    id,
    peerName: name,
    async open(url) {
      if (!isInstalled(id)) throw new Error('not installed');
      const keepOne = await open(url);
      let release!: () => void;
      let over = new Promise<void>((resolve) => (release = resolve));
      let kept: Promise<unknown>[] = [];
      let lost = 0;
      return {
        name,
        role: 'peer',
        async keep(keys, ttlMs) {
          const taken = keys.map((key) => {
            let ended!: Promise<unknown>;
            const begun = new Promise<void>((resolve, reject) => {
              ended = keepOne(key, ttlMs, resolve, over).then((wasLost) => void (lost += Number(wasLost)));
              // It may never begin, or fail later on.
              ended.catch((error: unknown) => {
                lost++;
                reject(error as Error);
              });
            });
            kept.push(ended);
            return begun;
          });
          await Promise.all(taken);
        },
        lost: () => lost,
        async letGo() {
          release();
          await Promise.allSettled(kept);
          kept = [];
          lost = 0;
          over = new Promise<void>((resolve) => (release = resolve));
        },
      };
    },
  };
}

/** Redlock 5 and what came of it. */
function usingRedlock(redlock: any): KeepOne {
  return (key, ttlMs, taken, over) => redlock.using([key], ttlMs, whileKept(taken, over));
}

function whileKept(taken: () => void, over: Promise<void>): (signal: AbortSignal) => Promise<boolean> {
  return async (signal) => {
    taken();
    await over;
    return signal.aborted;
  };
}

async function connect(url: string): Promise<Redis> {
  const [client] = await connectAll([url]);
  return client!;
}
