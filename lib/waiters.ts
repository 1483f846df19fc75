import { LockBusyError, LockShutdownError, type LockError } from './errors.js';
import type { Runtime } from './runtime.js';
import type { LockStore, Place } from './stores/lock-store.js';
import { Waiter } from './waiter.js';

/** An attempt that did not get the lock. */
export interface Refusal {
  /** The key that stood in the way. */
  readonly busyKey: string;
  readonly retryAfterMs: number | undefined;
  /** Held by someone; or by nobody, since contenders split the votes; or the store could not tell. */
  readonly kind: 'busy' | 'undecided' | 'unavailable';
  /** What to throw when nobody wants to wait any longer. */
  error(waitedMs: number): LockError;
}

/** A place in line, and what the store said of it. */
export interface Standing extends Place {
  inLine: boolean;
}

export interface WaitTerms {
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

const FIRST_BACKOFF_MS = 50;
const LONGEST_BACKOFF_MS = 1000;
const SHORTEST_PAUSE_MS = 5;

/**
 * The callers of this process that wait. For each key they queue in order of arrival, and only the first talks to the store: it sleeps with exponential
 * backoff and full jitter, never past the holder's lease, and is woken when the store or this process knows that the key may be free.
 */
export class Waiters {
  readonly #queues = new Map<string, Waiter[]>();
  readonly #waiting = new Map<Waiter, string>();
  /** Where stores keep a line, this process has one place in the line of a key. */
  readonly #place: string;
  readonly #inLine = new Set<string>();

  constructor(
    private readonly runtime: Runtime,
    private readonly store: Pick<LockStore, 'onFree' | 'leave'>,
  ) {
    this.#place = runtime.random.id();
  }

  /**
   * Repeats `attempt` until it brings a lock, the wait is over (throws the last refusal's error), or the signal aborts.
   * A lock that arrives after the waiter has gone is handed to `discard`.
   */
  async queue<T extends object>(
    keys: readonly string[],
    terms: WaitTerms,
    attempt: (standing?: Standing) => Promise<T | Refusal>,
    discard: (late: T) => void,
  ): Promise<T> {
    const waiter = new Waiter(this.runtime.timers, terms.waitMs, terms.signal);
    const line = this.store.leave && keys.length === 1 ? keys[0] : undefined;
    let subscription: { readonly key: string; readonly stop: (() => void) | undefined } | undefined;
    const subscribe = (key: string): void => {
      if (key === subscription?.key) return;
      subscription?.stop?.();
      subscription = { key, stop: this.store.onFree?.(key, () => waiter.wake(), this.#place) };
    };
    this.#waiting.set(waiter, keys[0] ?? '');
    try {
      // Keys are sorted, so two callers that wait for the same two keys queue in the same order and cannot block each other.
      for (const key of keys) {
        this.#enter(key, waiter);
        while (this.#queues.get(key)?.[0] !== waiter) {
          await waiter.pause();
          if (waiter.expired) throw new LockBusyError(key, undefined, terms.waitMs);
        }
      }
      // The one before it has just got the key, and left its place in line.
      if (line !== undefined && this.#inLine.has(line)) {
        subscribe(line);
        await waiter.pause(this.#turn());
      }
      for (let round = 0; ; round++) {
        const lastAttempt = waiter.expired;
        const standing = line === undefined ? { more: false, inLine: false } : this.#stand(line);
        const pending = attempt(standing);
        const outcome = await waiter.orStopped(pending).catch((reason: unknown) => {
          pending.then((late) => isRefusal(late) || discard(late)).catch(() => undefined); // nobody is left to hear of its failure
          throw reason;
        });
        if (line !== undefined && !standing.inLine) this.#inLine.delete(line);
        if (!isRefusal(outcome)) return outcome;
        if (lastAttempt) throw outcome.error(terms.waitMs);
        // Only to the key that someone holds: what this very waiter gives back after a failed attempt must not wake it.
        if (outcome.kind === 'busy') subscribe(outcome.busyKey);
        const { retryAfterMs } = outcome;
        await waiter.pause(standing.inLine ? this.#turn(retryAfterMs) : this.#backoff(round, retryAfterMs));
      }
    } finally {
      subscription?.stop?.();
      for (const key of keys) this.#leave(key, waiter);
      if (line !== undefined && !this.#queues.has(line) && this.#inLine.delete(line)) {
        this.store.leave?.(line, this.#place);
      }
      this.#waiting.delete(waiter);
      waiter.dispose();
    }
  }

  /** The key may have come free. */
  wake(key: string): void {
    // In line it is not this process's turn before it is told so.
    if (!this.#inLine.has(key)) this.#queues.get(key)?.[0]?.wake();
  }

  /** Ends every wait with `LockShutdownError`. */
  stop(): void {
    for (const [waiter, key] of this.#waiting) waiter.stop(new LockShutdownError(key));
  }

  #backoff(round: number, retryAfterMs = Number.POSITIVE_INFINITY): number {
    const ceiling = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(round, 10));
    const jittered = this.runtime.random.fraction() * ceiling;
    return Math.max(SHORTEST_PAUSE_MS, Math.min(jittered, retryAfterMs));
  }

  /** As far as this process knows it stands in line from the moment it asks: the answer may come when nobody waits for it any more. */
  #stand(key: string): Standing {
    this.#inLine.add(key);
    return { id: this.#place, more: (this.#queues.get(key)?.length ?? 0) > 1, inLine: false };
  }

  /** Who is in line is told when it is its turn; this is for what may have been lost on the way. */
  #turn(retryAfterMs = Number.POSITIVE_INFINITY): number {
    const patience = LONGEST_BACKOFF_MS * (0.5 + this.runtime.random.fraction() / 2);
    return Math.max(SHORTEST_PAUSE_MS, Math.min(patience, retryAfterMs));
  }

  #enter(key: string, waiter: Waiter): void {
    const queue = this.#queues.get(key);
    if (queue) queue.push(waiter);
    else this.#queues.set(key, [waiter]);
  }

  #leave(key: string, waiter: Waiter): void {
    const queue = this.#queues.get(key);
    const place = queue?.indexOf(waiter) ?? -1;
    if (!queue || place < 0) return;
    queue.splice(place, 1);
    if (queue.length === 0) this.#queues.delete(key);
    else if (place === 0) queue[0]?.wake();
  }
}

export function isRefusal<T extends object>(outcome: T | Refusal): outcome is Refusal {
  return 'busyKey' in outcome;
}
