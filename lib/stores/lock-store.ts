/** The answer to one attempt. */
export type AcquireResult =
  | { readonly acquired: true; readonly fencingToken: number; readonly inLine?: boolean }
  | {
      readonly acquired: false;
      /** The longest the present holder can keep the key without renewing. */
      readonly retryAfterMs?: number;
      /** The place that was given stands in line from now on, and is told when it is its turn. */
      readonly inLine?: boolean;
      /** Nobody is known to hold the key: several asked at once and split the votes. Ask again after a short, random time. */
      readonly undecided?: true;
    };

/** Someone who waits for a key, and is to be told when it comes free or it is their turn. */
export interface Place {
  /** In line for the key, where the store keeps one: the same for all that this process asks of it. Without it they stand in no line. */
  readonly id?: string;
  /** Whether more of this process wait for it: a grant then puts it at the end of the line again. */
  readonly more: boolean;
}

/** What a store knows about a key at one moment. */
export interface LockState {
  readonly locked: boolean;
  readonly owner?: string;
  /** How long the present lease still runs, in ms, unless renewed. */
  readonly remainingMs?: number;
  /** The last token given out for the key, if the store still remembers it. */
  readonly fencingToken?: number;
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
   * One attempt, for `ttlMs`. Rejects with `LockUnavailableError` when it cannot decide. A store with `leave` may keep a line: the answer to an attempt with a place in it says
   * whether it stands there. The key is kept for a moment for whoever is first when it is given back.
   */
  acquire(key: string, owner: string, ttlMs: number, place?: Place): Promise<AcquireResult>;

  /** True: `ttlMs` more from now. False: not ours any more; it never re-creates the lock. Rejects: unknown. */
  renew(key: string, owner: string, ttlMs: number): Promise<boolean>;

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
   * Calls `wake` when the key may have come free, or it may be this place's turn; returns the unsubscribe function. Who listens and has then been refused with a
   * place is told of one release. Losing a wake-up is allowed, and so is one too many.
   */
  onFree?(key: string, wake: () => void, place?: string): () => void;

  /** Gives a place in line up. It never throws: a place that stays costs those behind it a moment. */
  leave?(key: string, place: string): void;

  /**
   * Calls `lost` as soon as the store knows by itself that the owner has the key no longer, before any renewal asks; returns the unsubscribe function. For
   * stores that hold locks by a connection: they know at once when it breaks.
   */
  onLoss?(key: string, owner: string, lost: () => void): () => void;

  /** Closes what the store opened itself, never a client the user handed in. */
  close?(): Promise<void>;
}
