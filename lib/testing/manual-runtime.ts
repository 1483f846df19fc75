import { setImmediate as turn } from 'node:timers/promises';
import type { Clock, Random, Runtime, Timers } from '../runtime.js';

interface ManualTimer {
  readonly dueAt: number;
  readonly callback: () => void;
}

let made = 0;

/**
 * Time that passes only when a test says so. Give one to everything that shares a clock:
 *
 * ```ts
 * const runtime = new ManualRuntime();
 * const locks = new LockManager(new MemoryStore(runtime), {}, runtime);
 * const lock = await locks.acquire('a', { ttl: '30s', autoRenew: false });
 * await runtime.advance(30_000);
 * lock.held;                                                       // false
 * ```
 */
export class ManualRuntime implements Runtime {
  readonly clock: Clock = { monotonic: () => this.#monotonic, wall: () => this.#wall };
  readonly timers: Timers = { start: (callback, delayMs) => this.#start(callback, delayMs) };
  readonly random: Random;
  readonly #timers = new Set<ManualTimer>();
  #monotonic = 0;
  #wall: number;

  /** The same seed brings the same random numbers. */
  constructor(startAt: Date | number = Date.UTC(2030, 0), seed = 1) {
    this.#wall = Number(startAt);
    // Ids differ between runtimes of one seed as well: one runtime each is how a test plays two machines.
    const name = `manual-${++made}`;
    let ids = 0;
    this.random = { fraction: fractions(seed), id: () => `${name}-${++ids}` };
  }

  /** How many timers are set. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Lets time pass: fires the timers that come due, in order, each after everything the one before it set off has settled. 0 only lets things settle. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await turn();
    for (let timer = this.#next(end); timer; timer = this.#next(end)) {
      this.#timers.delete(timer);
      this.#pass(timer.dueAt - this.#monotonic);
      timer.callback();
      await turn();
    }
    this.#pass(end - this.#monotonic);
  }

  /** The process stands still, as under a blocked event loop or SIGSTOP: time passes, and the timers that came due fire only with the next `advance`. */
  pause(ms: number): void {
    this.#pass(ms);
  }

  /** The machine sleeps: only the wall clock goes on, and timers come due that much later. */
  suspend(ms: number): void {
    this.#wall += ms;
  }

  /** Sets the wall clock forward, or back with a negative number. */
  skewWall(ms: number): void {
    this.#wall += ms;
  }

  #pass(ms: number): void {
    if (ms <= 0) return; // an overdue timer does not turn the clock back
    this.#monotonic += ms;
    this.#wall += ms;
  }

  #start(callback: () => void, delayMs: number): () => void {
    const timer = { dueAt: this.#monotonic + Math.max(1, delayMs), callback }; // 1 ms at least, as setTimeout
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  #next(end: number): ManualTimer | undefined {
    let next: ManualTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueAt <= end && (!next || timer.dueAt < next.dueAt)) next = timer;
    }
    return next;
  }
}

/** Uniform in [0, 1): a Weyl sequence, scrambled. */
function fractions(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let bits = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
    return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
  };
}
