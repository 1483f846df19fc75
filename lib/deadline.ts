import type { Clock } from './runtime.js';

/** One reading of both clocks. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export function now(clock: Clock): Moment {
  return { monotonic: clock.monotonic(), wall: clock.wall() };
}

/** Ms since `start`. The monotonic clock stands still while a machine is suspended, the wall clock does not: the larger counts. */
export function elapsed(clock: Clock, start: Moment): number {
  return Math.max(clock.monotonic() - start.monotonic, clock.wall() - start.wall);
}

/** When `durationMs` after `start` is, on the monotonic clock as seen `at` a moment. It comes nearer when the wall clock runs ahead. */
export function endOf(start: Moment, durationMs: number, at: Moment): number {
  return Math.min(start.monotonic + durationMs, at.monotonic + start.wall + durationMs - at.wall);
}

/** A point in time, `durationMs` after a moment; never, if that is Infinity. */
export class Deadline {
  constructor(
    private readonly clock: Clock,
    private readonly start: Moment,
    private readonly durationMs: number,
  ) {}

  /** Ms left; negative once it has passed. */
  get remaining(): number {
    return this.durationMs - elapsed(this.clock, this.start);
  }

  /** On the monotonic clock, as seen `at` a moment, for timers. */
  on(at: Moment): number {
    return endOf(this.start, this.durationMs, at);
  }
}

/** Clocks of process and store may run at speeds 1 % apart; Redis rounds expiry to a ms at both ends. */
const DRIFT_FACTOR = 0.01;
const DRIFT_MS = 2;

/** How long to wait, on a clock of one's own, until what another counts as `ms` on theirs is over. */
export function outlasting(ms: number): number {
  return ms + ms * DRIFT_FACTOR + DRIFT_MS;
}

/** How much of a ttl its holder may rely on, counted from before the request was sent (drift as in Redis's Redlock description). */
export function validity(ttlMs: number): number {
  return ttlMs - ttlMs * DRIFT_FACTOR - DRIFT_MS;
}
