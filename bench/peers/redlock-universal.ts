import { TTL_MS } from '../locker.js';
import { FOR_EVER, ioredisPeer, pace, require } from './peer.js';

export const redlockUniversal = ioredisPeer('redlock-universal', 'redlock-universal 0.8.5', (clients, terms) => {
  const { createLock, createRedlock, IoredisAdapter } = require('redlock-universal');
  const adapters = clients.map((client) => new IoredisAdapter(client));
  const options = {
    ttl: TTL_MS,
    retryAttempts: terms.waits ? FOR_EVER : 0,
    ...pace(terms, (ms) => ({ retryDelay: ms })),
  };
  return async (key, work) => {
    const lock =
      adapters.length === 1
        ? createLock({ adapter: adapters[0], key, ...options })
        : createRedlock({ adapters, key, ...options });
    const handle = await lock.acquire();
    await work?.();
    await lock.release(handle);
  };
});
