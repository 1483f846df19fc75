import type { Lock } from './lock.js';
import type { LockCallEvent } from './lock-events.js';

/** One guarded call: of `withLock`, or of a `@WithLock` method. */
export type TracedCall = Pick<LockCallEvent, 'manager' | 'keys' | 'label'>;

/** What a guarded call tells of itself while it is traced. */
export interface CallProgress {
  granted(lock: Lock): void;
}

/** Follows guarded calls from the first attempt to the release. */
export interface CallTracer {
  /** Runs the call, and returns or throws what it does. */
  trace<T>(call: TracedCall, run: (progress: CallProgress) => Promise<T>): Promise<T>;
}
