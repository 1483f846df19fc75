import { LockShutdownError } from './errors.js';
import type { Runtime } from './runtime.js';
import type { LockStore } from './stores/lock-store.js';
import type { Quest, WaitTerms } from './quest.js';
import { WaitQueue } from './wait-queue.js';
import { Waiter, type WaitingRoom } from './waiter.js';

/**
 * The callers of this process that wait. For each key they queue in order of arrival, and only the first talks to the store: it sleeps with exponential
 * backoff and full jitter, never past the holder's lease, and is woken when the store or this process knows that the key may be free.
 */
export class Waiters implements WaitingRoom {
  readonly #queues = new Map<string, WaitQueue>();
  /** One listener for each signal, however many wait with it: more than ten make Node warn of a leak. */
  readonly #signals = new Map<AbortSignal, Set<Waiter<any>>>();

  constructor(
    readonly runtime: Runtime,
    readonly store: Pick<LockStore, 'onFree' | 'leave'>,
  ) {}

  /**
   * Repeats attempts until one brings a lock, the wait is over (throws the last refusal's error), or the signal aborts. `onWait` is called once, if the first
   * attempt does not bring it.
   */
  queue<T extends object>(keys: readonly string[], terms: WaitTerms, quest: Quest<T>, onWait?: () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiter = new Waiter<T>(this, keys, terms, quest, onWait, resolve, reject);
      if (terms.signal) this.#heed(terms.signal, waiter);
      waiter.advance();
    });
  }

  /** The key may have come free. */
  wake(key: string): void {
    (this.#queues.get(key)?.first as Waiter<any> | undefined)?.cameFree();
  }

  /** Ends every wait with `LockShutdownError`. */
  stop(): void {
    for (const [key, queue] of this.#queues) {
      for (const waiter of queue.members) (waiter as Waiter<any>).stop(new LockShutdownError(key));
    }
  }

  queueFor(key: string): WaitQueue {
    let queue = this.#queues.get(key);
    if (!queue) this.#queues.set(key, (queue = new WaitQueue(key, this.runtime)));
    return queue;
  }

  left(queue: WaitQueue): void {
    const { key, first, ticket } = queue;
    if (!first) this.#queues.delete(key);
    if (ticket === undefined || first?.stands) return;
    queue.ticket = undefined;
    this.store.leave?.(key, ticket);
  }

  ended(waiter: Waiter<any>): void {
    const { signal } = waiter;
    const waiting = signal && this.#signals.get(signal);
    if (!waiting) return;
    waiting.delete(waiter);
    if (waiting.size > 0) return;
    this.#signals.delete(signal);
    signal.removeEventListener('abort', this.#onAbort);
  }

  #heed(signal: AbortSignal, waiter: Waiter<any>): void {
    const waiting = this.#signals.get(signal);
    if (waiting) {
      waiting.add(waiter);
      return;
    }
    this.#signals.set(signal, new Set([waiter]));
    signal.addEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = ({ target }: Event): void => {
    const signal = target as AbortSignal;
    for (const waiter of [...(this.#signals.get(signal) ?? [])]) waiter.stop(signal.reason);
  };
}
