import type { Moment } from '../deadline.js';
import type { StoreHealth } from './store-health.js';
import type { StoreObserver } from './store-observer.js';

/** The answer to one attempt. */
export type AcquireResult =
  | { readonly acquired: true; readonly fencingToken: number }
  | {
      readonly acquired: false;
      /** The longest the present holder can keep the key without renewing. */
      readonly retryAfterMs?: number;
      /** It stands in line from now on, and is told when it is its turn. */
      readonly inLine?: boolean;
      /** Nobody is known to hold the key: several asked at once and split the votes. Ask again after a short, random time. */
      readonly undecided?: true;
    };

/** A grant to an attempt that had been refused, but stood in line. */
export interface Turn {
  readonly fencingToken: number;
  /** Before that was sent: the lease counts from here, though it was granted later. */
  readonly sentAt: Moment;
  /** Shorter than the ttl: whoever does not make it longer in time, by renewing, is taken for dead. */
  readonly leaseMs: number;
}

/** Someone who waits for a key. */
export interface Place {
  /** Whether to stand in line for it, where the store keeps a line. */
  readonly stands?: boolean;
  /** The owner of the attempt before this one, whose place in line this one takes, or, if it stands in none, gives up. */
  readonly after?: string | undefined;
  /** Told to who stands in line: it is their turn, or may have been. Asking again then brings the lock. */
  wake?(): void;
}

/** One of many locks that are renewed together, and who is told what came of it: one of the two, once. */
export interface Lease {
  readonly key: string;
  readonly owner: string;
  /** How often it was renewed already. */
  readonly renewals: number;
  /** It was given back or lost meanwhile: nothing may be sent for it any more. */
  readonly over: boolean;
  /** False: not ours any more. */
  renewed(ours: boolean): void;
  /** The outcome is unknown. */
  unclear(error: unknown): void;
}

/** What a store knows about a key at one moment. */
export interface LockState {
  readonly locked: boolean;
  readonly owner?: string;
  /** How long the present lease still runs, in ms, unless renewed. */
  readonly remainingMs?: number;
  /** The last token given out for the key, if the store still remembers it. */
  readonly fencingToken?: number;
  /** Its owner has given it back, and it stays taken a while longer: `minHold`. */
  readonly released?: true;
  /** How many processes wait for it, where the store knows; each of them may have more in a queue of its own. */
  readonly waiters?: number;
  /** Of several independent nodes, where the key is taken on any. */
  readonly nodes?: NodeCount;
}

/** How many of several nodes know of an owner. */
export interface NodeCount {
  /** Those that have the key for this owner. Held it is only by a majority of all. */
  readonly holding: number;
  readonly answering: number;
  readonly all: number;
}

/** Which keys to list. */
export interface KeyQuery {
  /** What they begin with. Empty: all. */
  readonly prefix: string;
  /** How many at most. */
  readonly limit: number;
  /** Of the page before. */
  readonly cursor?: string;
}

export interface KeyState extends LockState {
  readonly key: string;
}

/** A part of what a store has. */
export interface KeyPage {
  /** Not `locked`: what only a minority of the nodes has, left behind by an attempt, or where too few answer to tell. */
  readonly keys: readonly KeyState[];
  /** Where to go on; without it there is no more. */
  readonly cursor?: string;
}

/**
 * What every store promises. A store decides who owns a key; it does not wait, renew on its own, log or emit events.
 *
 * - At most one owner holds a key at a time, from its grant until its ttl is over or it released.
 * - `acquire` of a key that anyone holds, the same owner included, is refused. An owner id is used for one attempt only.
 * - Tokens of one key strictly rise from grant to grant, across releases and expiries.
 * - A rejected promise means that the outcome is unknown or that the store is out of reach; it never means "busy".
 * - An attempt that rejected, or was refused, leaves nothing behind that would block the key for longer than its ttl.
 */
export interface LockStore {
  /**
   * One attempt, for `ttlMs`. Rejects with `LockUnavailableError` when it cannot decide. A store with `leave` may keep a line: the answer to an attempt that stands says
   * whether it stands in it. The key is kept for a moment for whoever is first when it is given back.
   */
  acquire(key: string, owner: string, ttlMs: number, place?: Place): Promise<AcquireResult>;

  /** True: `ttlMs` more from now. False: not ours any more; it never re-creates the lock. Rejects: unknown. */
  renew(key: string, owner: string, ttlMs: number): Promise<boolean>;

  /**
   * Renews many at once, for the same ttl, and tells each what `renew` would have said. For stores that can do that for less than the sum of its parts.
   */
  renewAll?(leases: readonly Lease[], ttlMs: number): void;

  /**
   * Frees the key, or with `keepForMs` lets it stay taken that much longer with nobody able to renew it.
   * False: it was not ours any more. Rejects: unknown; it then frees itself at its ttl.
   */
  release(key: string, owner: string, keepForMs?: number): Promise<boolean>;

  /**
   * Lifts the fence of a key its owner holds to `fencingToken`, so that the key's next token is above it. Needed for
   * locks over several keys. False: not ours any more, or the fence is already past that token.
   */
  raise?(key: string, owner: string, fencingToken: number): Promise<boolean>;

  /**
   * Runs `ask`, and sends what it asks of this store as one, where that can be: keys that are wanted together then meet those of others together. Without it
   * two callers more often each get a part of what both want, and nothing.
   */
  together?<T>(ask: () => T): T;

  /** Looks without touching. Rejects when it cannot tell. */
  inspect?(key: string): Promise<LockState>;

  /**
   * The keys that are taken, page by page, in no order. What is taken or comes free meanwhile may be in it or not, and a key may come twice; a page may be short, or
   * empty, and have a cursor. Rejects when it cannot tell, with `LockOptionsError` for a cursor that is none.
   */
  list?(query: KeyQuery): Promise<KeyPage>;

  /**
   * Takes the key from whoever holds it, as if they had released it, also one that is kept past its release. They hear of it when they next renew. False: nobody had it,
   * or gave it back just now. Rejects when somebody may still have it.
   */
  forceRelease?(key: string): Promise<boolean>;

  /**
   * Calls `wake` when the key may have come free, or the owner of this attempt can stand in line by now; returns the unsubscribe function. Who
   * listens and has then been refused with a place is told of one release. Losing a wake-up is allowed, and so is one too many.
   */
  onFree?(key: string, wake: () => void, owner?: string): () => void;

  /**
   * The turn that the attempt of this owner has got meanwhile, if there is one to rely on: then the key is its owner's. Without it, or where it returns nothing, asking again is
   * the only way.
   */
  take?(key: string, owner: string): Turn | undefined;

  /** Gives up the place in line of an attempt. It never throws: a place that stays costs those behind it a moment. */
  leave?(key: string, owner: string): void;

  /**
   * Calls `lost` as soon as the store knows by itself that the owner has the key no longer, before any renewal asks; returns the unsubscribe function. For
   * stores that hold locks by a connection: they know at once when it breaks.
   */
  onLoss?(key: string, owner: string, lost: () => void): () => void;

  /** Tells of its servers' going and coming from now on, and of those that are gone at once; returns what ends that. */
  observe?(observer: StoreObserver): () => void;

  /** Asks its servers how they are. Never rejects, and takes no longer than an attempt. */
  check?(): Promise<StoreHealth>;

  /** Closes what the store opened itself, never a client the user handed in. */
  close?(): Promise<void>;
}
