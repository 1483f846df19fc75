import type { LossReason } from '../errors.js';
import type { StoreHealth } from '../stores/store-health.js';

/** What the server tells the page. Times are on the server's wall clock, in ms. */
export interface Update {
  readonly now: number;
  /** With the first update of a stream: what does not change. */
  readonly about?: About;
  /** `set` and what is in it is all there is; without it they are changes of what the page has. */
  readonly full?: true;
  readonly set: readonly LockRow[];
  /** Keys that nobody holds any more. */
  readonly gone: readonly string[];
  /** There are more locks than these. */
  readonly truncated: boolean;
  /** How long it took to read the locks. */
  readonly readMs: number;
  /** When they were read. What the page has is of that moment. */
  readonly readAt: number;
  /** Why they could not be read just now. */
  readonly trouble?: string;
  /** Holds that have ended; one may come again, with better knowledge of its end. */
  readonly holds: readonly Hold[];
  readonly health?: StoreHealth;
  readonly figures?: Figures;
}

export interface About {
  readonly manager: string;
  /** The process that answers, of which the figures are. */
  readonly pod: string;
  readonly pid: number;
  /** Whether locks can be released from here. */
  readonly release: boolean;
}

/** A lock that somebody holds. What is not known is left out. */
export interface LockRow {
  readonly key: string;
  /** Differs from holder to holder. */
  readonly id: string;
  readonly pod?: string;
  readonly pid?: number;
  readonly since?: number;
  /** When the lease runs out, unless it is renewed. */
  readonly endsAt?: number;
  /** The longest that this holder's lease has been seen to have left: about its ttl. */
  readonly leaseMs?: number;
  /** It has been seen to be renewed. */
  readonly renewed?: true;
  readonly token?: number;
  readonly waiters?: number;
  /** Nodes that have it, that answered, and all. */
  readonly nodes?: readonly [holding: number, answering: number, all: number];
  /** Given back, and kept for its `minHold`. */
  readonly kept?: true;
}

/** `ended`: given back, or taken away by someone; `released`: given back; `expired`: not renewed in time; `lost`: this process was told; `forced`: from this dashboard. */
export type HoldEnd = 'ended' | 'released' | 'expired' | 'lost' | 'forced';

/** Who held a key, and when. */
export interface Hold {
  readonly key: string;
  readonly pod?: string;
  readonly pid?: number;
  readonly token?: number;
  readonly from?: number;
  readonly to: number;
  readonly end: HoldEnd;
  readonly reason?: LossReason;
}

/** What the calls of this process saw. */
export interface Figures {
  /** Grants by how long they took; `waits[i]` took up to `WAIT_LIMITS_MS[i]`, the last one longer. */
  readonly waits: readonly number[];
  /** The last ten minutes, oldest first. */
  readonly slots: readonly Slot[];
  /** What is fought for most. */
  readonly labels: readonly LabelFigures[];
  readonly losses: readonly Loss[];
  /** Since the start of the process. */
  readonly lost: number;
}

/** A stretch of time. Who waited in vain is in `waiting` and in `busy`. */
export interface Slot extends Calls {
  readonly from: number;
  readonly ms: number;
}

export interface Calls {
  readonly granted: number;
  readonly waiting: number;
  readonly busy: number;
  readonly unavailable: number;
}

export interface LabelFigures extends Calls {
  readonly label: string;
}

export interface Loss {
  readonly at: number;
  readonly key: string;
  readonly token: number;
  readonly heldMs: number;
  readonly reason: LossReason;
}
