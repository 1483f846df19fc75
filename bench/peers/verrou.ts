import { TTL_MS } from '../locker.js';
import { FOR_EVER, ioredisPeer, load, pace } from './peer.js';

export const verrou = ioredisPeer('@verrou/core', '@verrou/core 0.5.2', async (clients, options) => {
  if (clients.length > 1) throw new Error('it locks on one Redis only');
  const { LockFactory } = await load('@verrou/core');
  const { RedisStore } = await load('@verrou/core/drivers/redis');
  const locks = new LockFactory(new RedisStore({ connection: clients[0] }), {
    retry: { attempts: options.waits ? FOR_EVER : 1, ...pace(options, (ms) => ({ delay: ms })) },
  });
  return async (key, work) => {
    const lock = locks.createLock(key, TTL_MS);
    if (!(await lock.acquire())) throw new Error(`${key} is taken`);
    await work?.();
    await lock.release();
  };
});
