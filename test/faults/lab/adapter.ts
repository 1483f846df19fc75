/** What an adapter is given to open a lock library with. */
export interface OpenTerms {
  /** The Redis nodes, each behind a proxy of this worker alone. */
  readonly nodes: readonly string[];
  /** The PostgreSQL that keeps locks, behind such a proxy too. What the locks protect is in another. */
  readonly postgres: string;
  readonly ttlMs: number;
}

/** What a library tells the one who holds. */
export interface Holding {
  /** Its answer to "do I still hold?" that costs no round trip: what code asks right before it writes. */
  held(): boolean;
  /** Calls `told` when the library says that the lock is lost. */
  onLost(told: () => void): void;
  readonly token?: number;
}

/** A lock library in the lab: auto-renewed locks of one ttl. */
export interface Locks {
  /** Takes the key, runs the work, gives the key back. Rejects when the key could not be had. */
  run(key: string, work: (holding: Holding) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export type OpenLocks = (terms: OpenTerms) => Promise<Locks>;
