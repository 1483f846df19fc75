import type { Clock, Random, Runtime, Timers } from '../../lib/runtime.js';
import type { Prng } from './prng.js';
import type { Timeline } from './timeline.js';

const EPOCH_MS = 1_800_000_000_000;
const ID_DIGITS = 5;
/** What rounding may make of a moment. */
const ROUNDING_MS = 1e-6;

/** A process: clocks of its own, and a loop that stands still while it is paused. What came for it meanwhile comes all at once, in any order, when it wakes. */
export class SimProcess implements Runtime {
  alive = true;
  /** How far its wall clock is off, in ms. */
  skewMs = 0;
  /** How many timers are set. */
  pendingTimers = 0;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  #pausedSince: number | undefined;
  #pausedMs = 0;
  #suspendedSince: number | undefined;
  #suspendedMs = 0;
  #backlog: (() => void)[] = [];
  #ids = 0;

  constructor(
    readonly name: string,
    /** How fast its clocks run. */
    readonly pace: number,
    private readonly timeline: Timeline,
    private readonly prng: Prng,
  ) {
    this.clock = { monotonic: () => this.#monotonic, wall: () => EPOCH_MS + timeline.nowMs * pace + this.skewMs };
    this.timers = { start: (callback, delayMs) => this.#start(callback, delayMs) };
    // Of one length, as real ones: none is a part of another.
    const id = (): string => `${name}#${String(++this.#ids).padStart(ID_DIGITS, '0')}`;
    this.random = { fraction: () => prng.fraction(), id };
  }

  get paused(): boolean {
    return this.#pausedSince !== undefined;
  }

  /** For how long it has stood still in all, in ms. */
  get pausedMs(): number {
    return this.#pausedMs + this.timeline.nowMs - (this.#pausedSince ?? this.timeline.nowMs);
  }

  /** Runs in this process, as soon as its loop turns. */
  run(work: () => void): void {
    if (!this.alive) return;
    if (this.#pausedSince === undefined) this.#do(work);
    else this.#backlog.push(work);
  }

  pause(ms: number): void {
    if (this.#pausedSince !== undefined || !this.alive) return;
    this.#pausedSince = this.timeline.nowMs;
    this.timeline.after(ms, () => this.#wake());
  }

  /** The machine sleeps: its monotonic clock, and with it the timers, stand still, too. */
  suspend(ms: number): void {
    if (this.#pausedSince !== undefined || !this.alive) return;
    this.#suspendedSince = this.timeline.nowMs;
    this.pause(ms);
  }

  get #monotonic(): number {
    return ((this.#suspendedSince ?? this.timeline.nowMs) - this.#suspendedMs) * this.pace;
  }

  #wake(): void {
    const { nowMs } = this.timeline;
    this.#pausedMs = this.pausedMs;
    this.#pausedSince = undefined;
    this.#suspendedMs += nowMs - (this.#suspendedSince ?? nowMs);
    this.#suspendedSince = undefined;
    const backlog = this.#backlog;
    this.#backlog = [];
    while (backlog.length > 0) {
      const [work] = backlog.splice(this.prng.below(backlog.length), 1);
      // One at a time: what follows from one happens before the next.
      this.timeline.after(0, () => this.run(work!));
    }
  }

  #do(work: () => void): void {
    this.timeline.stirred = true;
    work();
  }

  #start(callback: () => void, delayMs: number): () => void {
    let over = false;
    const end = (): void => {
      if (!over) this.pendingTimers--;
      over = true;
    };
    const fire = (): void => {
      if (over) return;
      end();
      callback();
    };
    this.pendingTimers++;
    this.#plan(this.#monotonic + Math.max(1, delayMs), () => {
      if (!over) this.run(fire);
    });
    return end;
  }

  #plan(dueAt: number, fire: () => void): void {
    this.timeline.after(Math.max(1, dueAt - this.#monotonic) / this.pace, () => {
      // The machine slept meanwhile.
      if (this.#monotonic < dueAt - ROUNDING_MS) this.#plan(dueAt, fire);
      else fire();
    });
  }
}
