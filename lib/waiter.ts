import { LockBusyError } from './errors.js';
import { isRefusal, type Quest, type Refusal, type Standing, type WaitTerms } from './quest.js';
import type { Runtime } from './runtime.js';
import type { LockStore } from './stores/lock-store.js';
import type { Queued, WaitQueue } from './wait-queue.js';

/** Where waiters meet those of the same process. */
export interface WaitingRoom {
  readonly runtime: Runtime;
  readonly store: Pick<LockStore, 'onFree' | 'leave'>;
  queueFor(key: string): WaitQueue;
  /** Somebody has left this queue. */
  left(queue: WaitQueue): void;
  /** They wait for nothing any more. */
  ended(waiter: Waiter<any>): void;
}

const FIRST_BACKOFF_MS = 50;
const LONGEST_BACKOFF_MS = 1000;
const SHORTEST_PAUSE_MS = 5;
/** Shorter than a store keeps a key for whoever is first. */
const LONGEST_PATIENCE_MS = 800;

/** One caller that waits: for its turn in this process, then for the store; it sleeps in between, and is woken, timed out or stopped from outside. */
export class Waiter<T extends object> implements Queued, Standing {
  dueAt: number;
  owner: string | undefined = undefined;
  after: string | undefined = undefined;
  readonly stands: boolean;
  readonly #expiresAt: number;
  readonly #queues: WaitQueue[] = [];
  #state: 'queued' | 'asking' | 'pausing' | 'gone' = 'queued';
  #inLine = false;
  /** What was heard while an attempt was under way is not lost. */
  #turnCame = false;
  #cameFree = false;
  #round = 0;
  #listensTo: string | undefined = undefined;
  #stopListening: (() => void) | undefined = undefined;

  constructor(
    private readonly room: WaitingRoom,
    /** Sorted. */
    private readonly keys: readonly string[],
    private readonly terms: WaitTerms,
    private readonly quest: Quest<T>,
    /** Called once, when it turns out that it has to wait. */
    private onWait: (() => void) | undefined,
    private readonly resolve: (lock: T) => void,
    private readonly reject: (reason: unknown) => void,
  ) {
    this.stands = room.store.leave !== undefined && keys.length === 1;
    this.#expiresAt = room.runtime.clock.monotonic() + terms.waitMs;
    this.dueAt = this.#expiresAt;
  }

  get signal(): AbortSignal | undefined {
    return this.terms.signal;
  }

  /** Goes on as far as it can: through the queues of all keys, and once it is the first in each, to the store. `held`: to stand in line there is all it can do now. */
  advance(held = false): void {
    if (this.#state !== 'queued') return;
    const { keys } = this;
    // Keys are sorted, so two callers that wait for the same two keys queue in the same order and cannot block each other.
    for (let last = this.#queues.at(-1); !last || last.first === this; last = this.#queues.at(-1)) {
      const key = keys[this.#queues.length];
      if (key === undefined)
        return held && !this.stands && !this.#cameFree ? this.#pause(this.#patience()) : this.#ask();
      const queue = this.room.queueFor(key);
      this.#queues.push(queue);
      queue.enter(this);
    }
    this.#queues.at(-1)!.due(this.dueAt);
    this.#tellWait();
  }

  attend(): void {
    if (this.#state === 'pausing') return this.#ask();
    const key = this.keys[this.#queues.length - 1]!;
    if (this.#state === 'queued') this.#fail(new LockBusyError(key, undefined, this.terms.waitMs));
  }

  /** It may be its turn. */
  wake(): void {
    if (this.#state === 'pausing') this.#ask();
    else this.#turnCame = true;
  }

  /** The key came free in this process. Who stands in line is told when it is their turn. */
  cameFree(): void {
    if (this.#state !== 'pausing') this.#cameFree = true;
    else if (!this.#inLine) this.#ask();
  }

  stop(reason: unknown): void {
    if (this.#state !== 'gone') this.#fail(reason);
  }

  #ask(): void {
    const queue = this.#queues[0]!;
    const { quest } = this;
    const taken = queue.ticket === undefined ? undefined : quest.take(queue.ticket);
    if (taken) return this.#got(taken);
    const isLast = this.room.runtime.clock.monotonic() >= this.#expiresAt;
    this.#state = 'asking';
    this.dueAt = Number.POSITIVE_INFINITY;
    this.#turnCame = false;
    this.#cameFree = false;
    this.after = queue.ticket;
    try {
      const attempt = quest.attempt(this);
      // As far as this process knows it stands in line from now on: the answer may come when nobody waits for it any more.
      if (this.stands) queue.ticket = this.owner;
      attempt.then(
        (outcome) => this.#answered(outcome, isLast),
        (error: unknown) => this.stop(error),
      );
    } catch (error) {
      this.stop(error);
    }
  }

  #answered(outcome: T | Refusal, wasLast: boolean): void {
    const refused = isRefusal(outcome);
    if (this.#state === 'gone') {
      if (!refused) this.quest.discard(outcome);
      else if (this.#mayStand(outcome)) this.room.store.leave?.(this.keys[0]!, this.owner!);
      return;
    }
    if (!refused) return this.#got(outcome);
    this.#state = 'pausing';
    this.#inLine = this.stands && outcome.inLine === true;
    if (!this.#mayStand(outcome)) this.#queues[0]!.ticket = undefined;
    if (wasLast || outcome.kind === 'hopeless') return this.#fail(outcome.error(this.terms.waitMs));
    if (this.#inLine) this.#listenNoMore();
    // Only to the key that someone holds: what this very waiter gives back after a failed attempt must not wake it.
    else if (outcome.kind === 'busy') this.#listen(outcome.busyKey);
    if (this.#turnCame || (this.#cameFree && !this.#inLine)) return this.#ask();
    this.#pause(this.#inLine ? this.#patience() : this.#backoff(), outcome.retryAfterMs);
  }

  #got(lock: T): void {
    this.#queues[0]!.ticket = undefined;
    this.resolve(lock);
    this.#leave(true);
  }

  /** Where it is not known it may: the answer got lost. */
  #mayStand({ inLine }: Refusal): boolean {
    return this.stands && inLine !== false;
  }

  #tellWait(): void {
    this.onWait?.();
    this.onWait = undefined;
  }

  #pause(ms: number, retryAfterMs = Number.POSITIVE_INFINITY): void {
    this.#tellWait();
    this.#state = 'pausing';
    const pauseMs = Math.max(SHORTEST_PAUSE_MS, Math.min(ms, retryAfterMs));
    this.dueAt = Math.min(this.#expiresAt, this.room.runtime.clock.monotonic() + pauseMs);
    this.#queues.at(-1)!.due(this.dueAt);
  }

  #backoff(): number {
    const ceiling = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(this.#round++, 10));
    return this.room.runtime.random.fraction() * ceiling;
  }

  /** Who is in line is told when it is its turn; this is for what may have been lost on the way. */
  #patience(): number {
    return LONGEST_PATIENCE_MS * (0.5 + this.room.runtime.random.fraction() / 2);
  }

  #listen(key: string): void {
    if (key === this.#listensTo) return;
    this.#listenNoMore();
    this.#listensTo = key;
    this.#stopListening = this.room.store.onFree?.(key, () => this.wake(), this.stands ? this.owner : undefined);
  }

  #listenNoMore(): void {
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#listensTo = undefined;
  }

  #fail(reason: unknown): void {
    this.#leave();
    this.reject(reason);
  }

  #leave(hasKey = false): void {
    // Nobody can take the place of an attempt that may yet bring the lock: then that is discarded, or else the place is given up.
    if (this.#state === 'asking') this.#queues[0]!.ticket = undefined;
    this.#state = 'gone';
    this.#listenNoMore();
    this.room.ended(this);
    for (const queue of this.#queues) {
      queue.leave(this, hasKey);
      this.room.left(queue);
    }
  }
}
