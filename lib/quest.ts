import type { LockError } from './errors.js';
import type { Place } from './stores/lock-store.js';

/** An attempt that did not get the lock. */
export interface Refusal {
  /** The key that stood in the way. */
  readonly busyKey: string;
  readonly retryAfterMs: number | undefined;
  /** Held by someone; or by nobody, since contenders split the votes; or the store could not tell, and if hopeless, will not until somebody mends it. */
  readonly kind: 'busy' | 'undecided' | 'unavailable' | 'hopeless';
  /** Whether the attempt stands in line; undefined where that is not known. */
  readonly inLine?: boolean | undefined;
  /** What to throw when nobody wants to wait any longer. */
  error(waitedMs: number): LockError;
}

/** Who waits, and what an attempt has to tell them. */
export interface Standing extends Place {
  /** The owner of the attempt, told before it goes out. */
  owner: string | undefined;
}

export interface WaitTerms {
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

/** How to get what somebody waits for. */
export interface Quest<T extends object> {
  attempt(standing: Standing): Promise<T | Refusal>;
  /** What the attempt of this owner, which stood in line, has got meanwhile. */
  take(owner: string): T | undefined;
  /** Takes care of a lock that arrives after the waiter has gone. */
  discard(late: T): void;
}

export function isRefusal<T extends object>(outcome: T | Refusal): outcome is Refusal {
  return 'busyKey' in outcome;
}
