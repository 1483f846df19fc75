import type { Lock } from 'nestjs-fenced-lock';
import { openManager } from '../ours.js';
import type { KeeperEntrant } from './keeper.js';

export const OURS_RENEWED = 'nestjs-fenced-lock';

export const OURS: KeeperEntrant = {
  id: 'ours',
  async open(url) {
    const { manager } = await openManager({ nodes: [url] });
    const locks: Lock[] = [];
    return {
      name: OURS_RENEWED,
      role: 'ours',
      async keep(keys, ttlMs) {
        locks.push(...(await Promise.all(keys.map((key) => manager.acquire(key, { ttl: `${ttlMs}ms` })))));
      },
      lost: () => locks.filter(({ held }) => !held).length,
      async letGo() {
        await Promise.all(locks.splice(0).map((lock) => lock.release()));
      },
    };
  },
};
