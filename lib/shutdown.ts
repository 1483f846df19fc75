import type { HeldLock } from './held-lock.js';
import type { Timers } from './runtime.js';
import type { LockStore } from './stores/lock-store.js';
import type { Waiters } from './waiters.js';

/** Shorter cuts long jobs off, longer delays a deployment. Kubernetes kills after 30 s by default. */
const DEFAULT_TIMEOUT_MS = 10_000;
/** The part of the time-out that is kept for releasing and closing. */
const CLOSING_SHARE = 0.2;
const LONGEST_CLOSING_MS = 1000;

/** The end of a manager: what is still held or under way, and the steps that wind it up in time. */
export class Shutdown {
  readonly held = new Set<HeldLock>();
  /** Acquisitions that have not settled yet. */
  pending = 0;
  #done: Promise<void> | undefined;
  #idle: (() => void) | undefined;

  constructor(
    private readonly timers: Timers,
    private readonly store: LockStore,
    private readonly waiters: Waiters,
  ) {}

  get begun(): boolean {
    return this.#done !== undefined;
  }

  begin(timeoutMs = DEFAULT_TIMEOUT_MS): Promise<void> {
    return (this.#done ??= this.#windUp(timeoutMs));
  }

  /** To be called when `held` or `pending` went down. */
  check(): void {
    if (this.held.size === 0 && this.pending === 0) this.#idle?.();
  }

  async #windUp(timeoutMs: number): Promise<void> {
    const closingMs = Math.min(LONGEST_CLOSING_MS, timeoutMs * CLOSING_SHARE);
    this.waiters.stop();
    const idle = new Promise<void>((resolve) => (this.#idle = resolve));
    this.check();
    await this.#within(timeoutMs - closingMs, idle);
    const left = [...this.held];
    for (const lock of left) lock.abort('shutdown');
    const closed = Promise.all(left.map((lock) => lock.release())).then(() => this.store.close?.());
    await this.#within(closingMs, closed);
  }

  /** Waits for `work`, but no longer than `ms`; a failure to close has nobody left to act on it. */
  #within(ms: number, work: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.timers.start(resolve, ms, true);
      work
        .catch(() => undefined)
        .finally(() => {
          cancel();
          resolve();
        });
    });
  }
}
