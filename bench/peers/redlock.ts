import { TTL_MS, type LockerOptions } from '../locker.js';
import { ioredisPeer, pace, require } from './peer.js';

const retries = (options: LockerOptions): object => ({
  retryCount: options.waits ? -1 : 0,
  ...pace(options, (ms) => ({ retryDelay: ms, retryJitter: ms / 2 })),
});

export const redlock4 = ioredisPeer('redlock', 'redlock 4.2.0', (clients, options) => {
  const Redlock = require('redlock');
  const redlock = new Redlock(clients, retries(options));
  return async (key, work) => {
    const lock = await redlock.lock(key, TTL_MS);
    await work?.();
    await lock.unlock();
  };
});

export const redlock5 = ioredisPeer('redlock5', 'redlock 5.0.0-beta.2', (clients, options) => {
  const { default: Redlock } = require('redlock5');
  return heir(new Redlock(clients, retries(options)));
});

export const sesamecareRedlock = ioredisPeer(
  '@sesamecare-oss/redlock',
  '@sesamecare-oss/redlock 1.4.0',
  (clients, options) => {
    const { Redlock } = require('@sesamecare-oss/redlock');
    return heir(new Redlock(clients, retries(options)));
  },
);

/** Redlock 5 and what came of it. */
function heir(redlock: any) {
  return async (key: string, work?: () => Promise<void>): Promise<void> => {
    const lock = await redlock.acquire([key], TTL_MS);
    await work?.();
    await lock.release();
  };
}
