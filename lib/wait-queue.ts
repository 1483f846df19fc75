import type { Runtime } from './runtime.js';

/** One who stands in a queue. */
export interface Queued {
  /** When it wants to be attended, on the monotonic clock; Infinity for never. */
  readonly dueAt: number;
  /** Whether it stands in the line of the store, where that keeps one. */
  readonly stands: boolean;
  attend(): void;
  /** It has become the first; the one before it may have got the key. */
  advance(held: boolean): void;
}

/** Those of this process who wait for one key, in order of arrival. One timer serves them all, and no one's leaving costs more than another's. */
export class WaitQueue {
  /** The owner of the attempt that stands in line for them, as far as is known, where the store keeps a line. Whoever asks next takes its place. */
  ticket: string | undefined = undefined;
  first: Queued | undefined = undefined;
  readonly #members = new Set<Queued>();
  #firesAt = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined = undefined;

  constructor(
    readonly key: string,
    private readonly runtime: Pick<Runtime, 'clock' | 'timers'>,
  ) {}

  get members(): readonly Queued[] {
    return [...this.#members];
  }

  enter(member: Queued): void {
    this.#members.add(member);
    this.first ??= member;
  }

  leave(member: Queued, hasKey: boolean): void {
    this.#members.delete(member);
    if (this.#members.size === 0) this.#disarm();
    if (this.first !== member) return;
    const [next] = this.#members;
    this.first = next;
    // Once all promises have settled: whoever has just got the key may give it back at once, and is not to wait for this; and with one who gives up, others may.
    if (next) queueMicrotask(() => process.nextTick(() => next.advance(hasKey)));
  }

  /** To be called when a member wants to be attended earlier than before. A timer that fires too early costs less than one for each wish. */
  due(at: number): void {
    if (at >= this.#firesAt) return;
    this.#disarm();
    const { clock, timers } = this.runtime;
    this.#firesAt = at;
    this.#cancel = timers.start(this.#fire, Math.max(0, Math.ceil(at - clock.monotonic())), true);
  }

  #disarm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#firesAt = Number.POSITIVE_INFINITY;
  }

  readonly #fire = (): void => {
    this.#disarm();
    const now = this.runtime.clock.monotonic();
    for (const member of this.members) if (member.dueAt <= now) member.attend();
    let next = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.#members) next = Math.min(next, dueAt);
    if (next !== Number.POSITIVE_INFINITY) this.due(next);
  };
}
