/** How a write is guarded. All three are done under the same lock, each to a counter of its own. */
export const GUARDS = ['none', 'write', 'claim'] as const;
export type Guard = (typeof GUARDS)[number];

export interface WorkerTerms {
  readonly name: string;
  readonly adapter: string;
  readonly nodes: readonly string[];
  readonly postgres: string;
  /** No fault befalls it: it keeps what the locks protect. */
  readonly database: string;
  readonly key: string;
  readonly ttlMs: number;
  /** How far the wall clock is off from the start. */
  readonly clockMs: number;
}

/**
 * What a worker is told. `hold`: the next lock is kept, after the read, until `go`, `block` or its loss; with `slow` the write then waits for a reply of the
 * database, and `awaiting` is told. `race`: many keys at once, each given back when its renewal is due. `clock`: the wall clock jumps.
 */
export type Order =
  | { readonly do: 'hold'; readonly slow?: boolean }
  | { readonly do: 'block'; readonly ms: number }
  | { readonly do: 'clock'; readonly ms: number }
  | { readonly do: 'race'; readonly keys: number; readonly afterMs: number }
  | { readonly do: 'work' | 'go' | 'rest' | 'leave' };

/** `refused`: the library's own check said that the lock is lost, and nothing was written. `stale`: the database refused. */
export type Outcome = 'written' | 'refused' | 'stale' | 'failed';

export interface Write {
  readonly guard: Guard;
  /** What the library's check said right before. */
  readonly held: boolean;
  readonly at: number;
  readonly outcome: Outcome;
}

/** From one look at which the holder had not been told of a loss to another, in ms. While it slept or was blocked there are none. */
export type Span = readonly [from: number, to: number];

/** One lock that was had. Times are of the machine's monotonic clock in ms, the same for all processes. */
export interface HoldRecord {
  readonly worker: string;
  readonly key: string;
  /** Read before it was asked for, after it was had, and after the work. */
  readonly startedAt: number;
  readonly entry: number;
  readonly exit: number;
  readonly token: number | null;
  readonly long: boolean;
  readonly toldAt: number | null;
  readonly believed: readonly Span[];
  readonly writes: readonly Write[];
  /** How long the way out took, and what it said. */
  readonly releaseMs: number;
  readonly releaseError: string | null;
}

export interface Entered {
  readonly at: number;
  readonly token: number | null;
  readonly long: boolean;
}

/** What is left once all locks are given back. */
export interface Leftovers {
  readonly timers: readonly string[];
}

export type Report =
  | { readonly type: 'ready' }
  | { readonly type: 'entered'; readonly entered: Entered }
  | { readonly type: 'holding' }
  | { readonly type: 'awaiting' }
  /** After the event loop was blocked. */
  | { readonly type: 'unblocked'; readonly at: number }
  | { readonly type: 'hold'; readonly hold: HoldRecord }
  | { readonly type: 'failure'; readonly at: number; readonly message: string }
  | { readonly type: 'trouble'; readonly kind: 'rejection' | 'exception'; readonly message: string }
  | { readonly type: 'done'; readonly order: Order['do']; readonly answer: unknown };

export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
