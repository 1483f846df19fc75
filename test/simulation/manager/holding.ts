import type { Lock } from '../../../lib/lock.js';
import type { SimProcess } from '../sim-process.js';

/** A lock that a process was handed, and until when it may believe that it has it: what `lock.remaining` said when it last changed. */
export class Holding {
  /** On the clock of the world. */
  validUntil = 0;
  /** Its holder has given it back. */
  over = false;
  /** Whether its holder wants to be told of a loss, and whether it was. */
  listens = false;
  told = false;
  /** For how long the process had stood still when that was looked at. */
  pausedMs = 0;

  constructor(
    readonly name: string,
    readonly lock: Lock,
    readonly process: SimProcess,
    /** Which of all grants it is. */
    readonly order: number,
  ) {}

  /** A process that stands still believes on; one that was killed does not. */
  validAt(nowMs: number): boolean {
    return !this.over && this.process.alive && this.validUntil > nowMs;
  }

  /** Only when a grant or a renewal was answered: to look at a lock is to notice that it is over, which must not happen on its own. */
  look(nowMs: number): void {
    const { remaining } = this.lock;
    this.pausedMs = this.process.pausedMs;
    this.validUntil = remaining > 0 ? nowMs + remaining / this.process.pace : Math.min(this.validUntil, nowMs);
  }

  toString(): string {
    return `${this.name} (token ${this.lock.fencingToken}, until ${this.validUntil.toFixed(1)} ms)`;
  }
}
