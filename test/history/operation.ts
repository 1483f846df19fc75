/**
 * One call of a process, as it saw it. Times are of the machine's monotonic clock, in ms: the same for all processes. A call without an answer is `unknown`: it
 * may have happened, or not.
 */
export interface Operation {
  readonly process: string;
  readonly key: string;
  /** Which attempt to get the key it belongs to: an acquire begins one, renewals and the release name it. */
  readonly attempt: string;
  readonly what: 'acquire' | 'renew' | 'release';
  /** Read before the call, and after its answer; Infinity where none came. */
  readonly invokedAt: number;
  readonly answeredAt: number;
  /** ok: granted, renewed, released. no: someone else has the key; or, for renewals and releases, it is not ours any more. */
  readonly outcome: 'ok' | 'no' | 'unknown';
  /** Of an acquire that was granted. */
  readonly token?: number;
  /** For how long an acquire or a renewal asked. */
  readonly ttlMs: number;
}

export interface MutexTerms {
  /** How much of a ttl its holder may rely on. */
  readonly validity: (ttlMs: number) => number;
  /** How long after its ttl a key may still be taken. */
  readonly freedAfterMs: number;
  /** Whether a store may forget a lock before its time: then a holder may be told so. No other may be let in all the same. */
  readonly forgetful: boolean;
  /** When processes were killed, read before that was done. A dead one holds nothing: a store that notices its end may let another in at once. */
  readonly killedAt?: Readonly<Record<string, number>>;
}
