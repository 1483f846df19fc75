import { setTimeout } from 'node:timers/promises';

const POLL_MS = 50;
const PATIENCE_MS = 20_000;

/** False if it did not become so in good time; rejects when the signal aborts first. */
export async function until(condition: () => boolean, signal: AbortSignal): Promise<boolean> {
  const giveUp = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > giveUp) return false;
    await setTimeout(POLL_MS, undefined, { signal });
  }
  return true;
}
