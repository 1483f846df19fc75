import { POLL_MS, TTL_MS } from '../locker.js';
import { FOR_EVER, ioredisPeer, require } from './peer.js';

export const redisSemaphore = ioredisPeer('redis-semaphore', 'redis-semaphore 5.8.0', (clients, { waits }) => {
  const { Mutex, RedlockMutex } = require('redis-semaphore');
  const options = {
    lockTimeout: TTL_MS,
    retryInterval: POLL_MS,
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
