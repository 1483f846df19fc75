import { TTL_MS } from '../locker.js';
import { FOR_EVER, ioredisPeer, pace, require } from './peer.js';

export const redisSemaphore = ioredisPeer('redis-semaphore', 'redis-semaphore 5.8.0', (clients, terms) => {
  const { waits } = terms;
  const { Mutex, RedlockMutex } = require('redis-semaphore');
  const options = {
    lockTimeout: TTL_MS,
    ...pace(terms, (ms) => ({ retryInterval: ms })),
    acquireTimeout: waits ? 60_000 : 1000,
    acquireAttemptsLimit: waits ? FOR_EVER : 1,
  };
  return async (key, work) => {
    const mutex = clients.length === 1 ? new Mutex(clients[0], key, options) : new RedlockMutex(clients, key, options);
    await mutex.acquire();
    await work?.();
    await mutex.release();
  };
});
