import type { Runtime } from './runtime.js';

/** Something that wants attention at a time of its own choosing, again and again, until it is no longer watched. */
export interface Watched {
  /** When, on the monotonic clock; Infinity for never. */
  readonly dueAt: number;
  /** How many ms earlier it may be served, so that it goes out together with others. */
  readonly slackMs: number;
  /** Called when due. It must move `dueAt` on, or unwatch itself. */
  attend(): void;
}

/** No timer sleeps longer than this: a machine that was suspended is noticed this soon after it woke. */
const LONGEST_SLEEP_MS = 1000;

/** One scheduler, and at most one timer, for all locks of a manager. Those due at about the same time are served in one tick. */
export class Watchdog {
  readonly #watched = new Set<Watched>();
  #firesAt = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(private readonly runtime: Runtime) {}

  watch(watched: Watched): void {
    this.#watched.add(watched);
    this.rescheduled(watched);
  }

  unwatch(watched: Watched): void {
    this.#watched.delete(watched);
    if (this.#watched.size === 0) this.#disarm();
  }

  /** To be called when `dueAt` moved; a later time than before costs nothing. */
  rescheduled(watched: Watched): void {
    if (watched.dueAt < this.#firesAt && this.#watched.has(watched)) this.#arm(watched.dueAt);
  }

  #arm(at: number): void {
    this.#disarm();
    this.#firesAt = at;
    const delayMs = Math.max(0, Math.ceil(at - this.runtime.clock.monotonic()));
    this.#cancel = this.runtime.timers.start(() => this.#fire(), Math.min(delayMs, LONGEST_SLEEP_MS));
  }

  #disarm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#firesAt = Number.POSITIVE_INFINITY;
  }

  #fire(): void {
    this.#disarm();
    const now = this.runtime.clock.monotonic();
    // Others come early with one that is due, not with a mere look at the clock.
    if (this.#earliest() <= now) {
      for (const watched of this.#watched) {
        if (watched.dueAt - watched.slackMs <= now) watched.attend();
      }
    }
    const next = this.#earliest();
    if (next < this.#firesAt) this.#arm(next);
  }

  #earliest(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.#watched) earliest = Math.min(earliest, dueAt);
    return earliest;
  }
}
