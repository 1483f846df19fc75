import { Redis } from 'ioredis';
import { require } from '../../../../bench/peers/peer.js';
import type { Holding, Locks, OpenLocks, OpenTerms } from '../adapter.js';

/** With all defaults of the library and of its client, as its README shows it; only the ttl is the lab's. */
function peer(make: (clients: Redis[], terms: OpenTerms) => Locks['run']): OpenLocks {
  return async (terms) => {
    const clients = terms.nodes.map((url) => new Redis(url));
    for (const client of clients) client.on('error', () => undefined);
    await Promise.all(clients.map((client) => new Promise((resolve) => client.once('ready', resolve))));
    return {
      run: make(clients, terms),
      close: async () => clients.forEach((client) => client.disconnect()),
    };
  };
}

/** What can be asked without a round trip is the signal. */
function bySignal(signal: AbortSignal, isValid: () => boolean = () => true): Holding {
  return {
    held: () => !signal.aborted && isValid(),
    onLost: (told) => signal.addEventListener('abort', told, { once: true }),
  };
}

export const redlock5 = peer((clients, { ttlMs }) => {
  const { default: Redlock } = require('redlock5');
  const redlock = new Redlock(clients);
  return (key, work) => redlock.using([key], ttlMs, (signal: AbortSignal) => work(bySignal(signal)));
});

export const sesamecare = peer((clients, { ttlMs }) => {
  const { Redlock } = require('@sesamecare-oss/redlock');
  const redlock = new Redlock(clients);
  type Context = { lock: { expiration: number } };
  return (key, work) =>
    redlock.using([key], ttlMs, (signal: AbortSignal, context: Context) =>
      work(bySignal(signal, () => context.lock.expiration > Date.now())),
    );
});

export const redisSemaphore = peer((clients, { ttlMs }) => {
  const { RedlockMutex } = require('redis-semaphore');
  return async (key, work) => {
    const listeners: (() => void)[] = [];
    const onLockLost = (): void => listeners.forEach((told) => told());
    const mutex = new RedlockMutex(clients, key, { lockTimeout: ttlMs, onLockLost });
    await mutex.acquire();
    try {
      await work({ held: () => mutex.isAcquired, onLost: (told) => listeners.push(told) });
    } finally {
      await mutex.release();
    }
  };
});

export const redlockUniversal = peer((clients, { ttlMs }) => {
  const { createRedlock, IoredisAdapter } = require('redlock-universal');
  const adapters = clients.map((client) => new IoredisAdapter(client));
  return (key, work) =>
    createRedlock({ adapters, key, ttl: ttlMs }).using((signal: AbortSignal) => work(bySignal(signal)));
});
