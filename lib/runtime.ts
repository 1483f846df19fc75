import { randomUUID } from 'node:crypto';

/** Readings of time, both in ms. Ownership is decided on the monotonic one; the wall clock can only shorten a lease. */
export interface Clock {
  /** Never goes back, and may stand still while the machine sleeps. */
  monotonic(): number;
  /** As `Date.now()` has it: it may be wrong, and set. */
  wall(): number;
}

/** What calls back later. */
export interface Timers {
  /**
   * Calls `callback` once, `delayMs` from now, and returns the cancel function. A timer keeps the process alive only if
   * `keepAlive` is true, which is right only while a caller awaits it.
   */
  start(callback: () => void, delayMs: number, keepAlive?: boolean): () => void;
}

/** Chance. */
export interface Random {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** An identifier that no other process will ever make. */
  id(): string;
}

/** Everything the locking core takes from the outside world, so that a test can bring its own. */
export interface Runtime {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}

// setTimeout fires at once when given more than this.
const LONGEST_DELAY_MS = 2 ** 31 - 1;

function start(callback: () => void, delayMs: number, keepAlive = false): () => void {
  if (delayMs > LONGEST_DELAY_MS) return startLong(callback, delayMs, keepAlive);
  const timer = setTimeout(callback, delayMs);
  if (!keepAlive) timer.unref();
  return () => clearTimeout(timer);
}

function startLong(callback: () => void, delayMs: number, keepAlive: boolean): () => void {
  const next = (): void => {
    cancel = start(callback, delayMs - LONGEST_DELAY_MS, keepAlive);
  };
  let cancel = start(next, LONGEST_DELAY_MS, keepAlive);
  return () => cancel();
}

export const systemRuntime: Runtime = {
  // The global `performance`, looked up at each call: fake timers of a test replace it together with `Date`.
  clock: { monotonic: () => performance.now(), wall: () => Date.now() },
  timers: { start },
  random: { fraction: () => Math.random(), id: () => randomUUID() },
};
