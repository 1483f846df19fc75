import type { SimProcess } from '../sim-process.js';

interface Call {
  readonly what: string;
  readonly process: SimProcess;
  readonly startedAt: number;
  readonly pausedMs: number;
  readonly limitMs: number;
}

/** Clocks run a little fast or slow, and timers fire a little late. */
const TOLERANCE = 1.02;
const LATE_MS = 40;

/** Every call of a process, and whether it ends in time. */
export class Calls {
  readonly #open = new Set<Call>();

  constructor(
    private readonly nowMs: () => number,
    private readonly broken: (what: string) => void,
  ) {}

  /** Brings what `asked` brings; undefined if it fails. It may take so long, beside what its process stands still. */
  async within<T>(
    limitMs: number,
    what: string,
    process: SimProcess,
    asked: Promise<T>,
  ): Promise<Awaited<T> | undefined> {
    const call = { what, process, limitMs, startedAt: this.nowMs(), pausedMs: process.pausedMs };
    this.#open.add(call);
    try {
      return await asked;
    } catch {
      return undefined;
    } finally {
      this.#open.delete(call);
      if (this.#overdue(call)) this.broken(`${this.#describe(call)} took too long`);
    }
  }

  /** When all is over. */
  close(): void {
    for (const call of this.#open) {
      if (call.process.alive && this.#overdue(call)) this.broken(`${this.#describe(call)} does not end`);
    }
  }

  #overdue({ process, startedAt, pausedMs, limitMs }: Call): boolean {
    return this.nowMs() - startedAt > limitMs * TOLERANCE + LATE_MS + process.pausedMs - pausedMs;
  }

  #describe({ what, process, startedAt, limitMs }: Call): string {
    const ms = (this.nowMs() - startedAt).toFixed(1);
    return `${process.name}: ${what}, begun at ${startedAt.toFixed(1)} ms, after ${ms} ms instead of ${limitMs}`;
  }
}
