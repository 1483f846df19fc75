import { setTimeout as sleep } from 'node:timers/promises';
import type { Locker } from './locker.js';
import type { Took } from './turn.js';

const KEY = 'bench:contended';

/** What a holder does: as short as a timer can be, so that the handover is what is measured. */
export async function holdBriefly(): Promise<void> {
  await sleep(1);
}

/** `waiters` callers at once, each of whom wants the key `locks` times. */
export async function contend(locker: Locker, waiters: number, locks: number, took: Took): Promise<void> {
  const caller = async (): Promise<void> => {
    for (let left = locks; left > 0; left--) {
      const start = performance.now();
      await locker.lock(KEY, holdBriefly);
      took(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: waiters }, caller));
}
