import { TTL_MS } from '../locker.js';
import { FOR_EVER, pace, peer, require } from './peer.js';

/** With node-redis, the client it asks for. */
export const redisKit = peer('@redis-kit/lock', '@redis-kit/lock 0.1.0-3', async (options) => {
  const { urls, waits } = options;
  const { Redlock } = require('@redis-kit/lock');
  const { createClient } = require('redis');
  const clients = urls.map((url) => createClient({ url }).on('error', () => undefined));
  await Promise.all(clients.map((client) => client.connect()));
  const locks = new Redlock(clients, {
    ...pace(options, (ms) => ({ retryDelayMs: ms, retryJitterMs: ms / 2 })),
    maxRetryAttempts: waits ? FOR_EVER : 0,
  });
  return {
    async lock(key, work) {
      const lock = await locks.acquire(key, TTL_MS);
      if (!lock) throw new Error(`${key} is taken`);
      await work?.();
      await lock.release();
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.close()));
    },
  };
});
