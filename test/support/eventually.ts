import { setTimeout as sleep } from 'node:timers/promises';

export interface EventuallyOptions {
  timeoutMs?: number;
  everyMs?: number;
}

/** Repeats an assertion until it holds, for what no event tells of. Fails with the assertion's own last error. */
export async function eventually<T>(
  assertion: () => T | Promise<T>,
  { timeoutMs = 15_000, everyMs = 10 }: EventuallyOptions = {},
): Promise<T> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (performance.now() >= giveUpAt) throw error;
    }
    await sleep(everyMs);
  }
}
