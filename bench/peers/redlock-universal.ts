import { POLL_MS, TTL_MS } from '../locker.js';
import { FOR_EVER, ioredisPeer, require } from './peer.js';

export const redlockUniversal = ioredisPeer('redlock-universal', 'redlock-universal 0.8.5', (clients, { waits }) => {
  const { createLock, createRedlock, IoredisAdapter } = require('redlock-universal');
  const adapters = clients.map((client) => new IoredisAdapter(client));
  const options = { ttl: TTL_MS, retryAttempts: waits ? FOR_EVER : 0, retryDelay: POLL_MS };
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
