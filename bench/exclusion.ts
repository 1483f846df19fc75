import { setTimeout as sleep } from 'node:timers/promises';
import type { Locker } from './locker.js';

const KEY = 'bench:exclusion';
/** Long enough for a poller to have looked again. */
const WATCHED_MS = 100;

/** Throws unless two of a kind, each with its own connection, keep each other out, and let each other in afterwards. */
export async function proveExclusion(open: () => Promise<Locker>): Promise<void> {
  const holder = await open();
  const rival = await open();
  try {
    let held = false;
    let overlapped = false;
    let outcome: Promise<unknown> | undefined;
    await holder.lock(KEY, async () => {
      held = true;
      outcome = rival.lock(KEY, async () => void (overlapped = held)).then(() => 'entered', String);
      // A rival that waits has no answer yet; one that does not is refused sooner.
      await Promise.race([outcome, sleep(WATCHED_MS, undefined, { ref: false })]);
      held = false;
    });
    await outcome;
    if (overlapped) throw new Error(`${holder.name} does not exclude: two held ${KEY} at once`);
    await rival.lock(KEY);
  } finally {
    await Promise.all([holder.close(), rival.close()]);
  }
}
