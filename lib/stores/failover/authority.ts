/**
 * Which store decides who holds a key. REDIS: Redis alone. DRAINING: nobody gets in; what Redis granted runs out, or is carried over. POSTGRES: Postgres alone.
 * BOTH: new locks need both, until no lock is left that only Postgres has. docs/failover.md says why no two holders meet.
 */
export type AuthorityState = 'REDIS' | 'DRAINING' | 'POSTGRES' | 'BOTH';

/** The one row that all processes agree on. */
export interface Authority {
  readonly state: AuthorityState;
  /** Rises by one with each change of state. */
  readonly epoch: number;
  /** Why the last change was made. */
  readonly reason: string;
  /** The longest lease on this row, and the longest ttl of a lock, that any process has ever announced, in ms. */
  readonly leaseMs: number;
  readonly ttlMs: number;
  /** Redis gives out tokens above this one … */
  readonly tokenFloor: number;
  /**
   * … and proposes them this much ahead of the clock, so that they go on rising with it: only the clock keeps them rising when a Redis has lost its memory. In the
   * unit of tokens, a µs. It is what the floor was above the clock of Postgres when the authority came back to Redis.
   */
  readonly tokenLead: number;
  /** … and up to this one; Postgres gives out those above it. It rises only in the state REDIS. */
  readonly tokenCeiling: number;
  /** How many processes have reported lately, and how many of them say of Redis that it has been out of reach, or well, for a while. */
  readonly pods: { readonly all: number; readonly down: number; readonly up: number };
}

/** What a process announces, and what it sees. */
export interface PodReport {
  readonly pod: string;
  readonly leaseMs: number;
  readonly ttlMs: number;
  /** The highest token this process knows of, its own clock included; the ceiling is kept well above it. */
  readonly tokenSeen: number;
  readonly redis: 'up' | 'down' | 'unsure';
  /** For how long this report counts, in ms. */
  readonly countsForMs: number;
}
