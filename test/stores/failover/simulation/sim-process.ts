import type { Clock, Random, Runtime, Timers } from '../../../../lib/runtime.js';
import type { Prng } from '../../../simulation/prng.js';
import type { Timeline } from './timeline.js';

const EPOCH_MS = 1_800_000_000_000;

/** A process: clocks of its own, and a loop that stands still while it is paused. What came for it meanwhile comes all at once, in any order, when it wakes. */
export class SimProcess implements Runtime {
  alive = true;
  /** How far its wall clock is off, in ms. */
  skewMs = 0;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  #paused = false;
  #backlog: (() => void)[] = [];
  #ids = 0;

  constructor(
    readonly name: string,
    private readonly pace: number,
    private readonly timeline: Timeline,
    private readonly prng: Prng,
  ) {
    const monotonic = (): number => timeline.nowMs * pace;
    this.clock = { monotonic, wall: () => EPOCH_MS + monotonic() + this.skewMs };
    this.timers = { start: (callback, delayMs) => this.#start(callback, delayMs) };
    this.random = { fraction: () => prng.fraction(), id: () => `${name}#${++this.#ids}` };
  }

  /** Runs in this process, as soon as its loop turns. */
  run(work: () => void): void {
    if (!this.alive) return;
    if (this.#paused) this.#backlog.push(work);
    else this.#do(work);
  }

  pause(ms: number): void {
    if (this.#paused || !this.alive) return;
    this.#paused = true;
    this.timeline.after(ms, () => this.#wake());
  }

  #wake(): void {
    this.#paused = false;
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
    let cancelled = false;
    this.timeline.after(Math.max(1, delayMs) / this.pace, () => {
      if (!cancelled) this.run(() => cancelled || callback());
    });
    return () => (cancelled = true);
  }
}
