import type { LockLostError } from './errors.js';

/** One held lock, over one key or several. What you hold is what you dispose: `await using lock = await locks.acquire(…)`. */
export abstract class Lock implements AsyncDisposable {
  /** The first key, in sorted order. */
  abstract readonly key: string;
  /** All keys, sorted, each once. */
  abstract readonly keys: readonly string[];
  /** Higher than that of any earlier grant of any of the keys. */
  abstract readonly fencingToken: number;
  /** Aborts, with `LockLostError` as its reason, as soon as the lock is known to be lost; at its deadline at the latest. */
  abstract readonly signal: AbortSignal;
  /** Whether the lease is valid at this moment, by the clock: true means that nobody else has been let in yet. */
  abstract readonly held: boolean;
  /** How long the lease still runs, in ms; 0 once it is lost or released. */
  abstract readonly remaining: number;

  /** Why the lock is not held any more, if it was lost; undefined while held and after a plain release. */
  abstract readonly loss: LockLostError | undefined;

  /** @throws LockLostError when the lock is not held at this moment. */
  abstract assertHeld(): void;

  /**
   * Renews now, for the lock's ttl.
   * @throws LockLostError when it is lost, LockUnavailableError when the store could not say.
   */
  abstract renew(): Promise<void>;

  /**
   * Gives the lock back; a second call does nothing. True: it was still ours. False: it had been lost, or the store could not be reached (the key then frees
   * itself at its ttl). It never throws, so it cannot hide an error of the work done under the lock.
   */
  abstract release(): Promise<boolean>;

  /** `release`, at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release().then(() => undefined);
  }
}
