import type { AuthorityChange } from '../../../lib/stores/failover/failover.options.js';
import type { AuthorityState } from '../../../lib/stores/failover/authority.js';
import type { Hold } from '../../soak/audit.js';
import type { MutantName } from './mutants.js';

/** How long things take in a case, and what its pods are made with. */
export interface CaseTerms {
  readonly ttlMs: number;
  readonly leaseMs: number;
  readonly failoverAfterMs: number;
  readonly returnAfterMs: number;
  /** After so long without an answer the connection to Postgres counts as broken. */
  readonly silenceMs: number;
  readonly policy: 'strict' | 'available';
}

export interface PodTerms extends CaseTerms {
  readonly nodes: readonly string[];
  readonly postgres: string;
  /** A database that no fault befalls: it keeps what the locks protect. */
  readonly ledger: string;
  /** Keys of jobs that last some ms, and of jobs that last until their lock is lost or they are told to stop. */
  readonly shortKeys: readonly string[];
  readonly longKeys: readonly string[];
  readonly mutant?: MutantName | undefined;
}

/** What a pod is told to do. `hold`: take a lock, read, and wait for `write`, which does not look at the lock. */
export type Order =
  | { readonly do: 'hold'; readonly key: string }
  | { readonly do: 'work' | 'rest' | 'look' | 'write' | 'release' | 'leave' };

export type Outcome = 'written' | 'stale' | 'left';

/** One lock that a pod held. Times are of the machine's monotonic clock, in ms: the same for all processes. */
export interface PodHold extends Hold {
  readonly key: string;
  /** What the pod took for the authority when it was granted. */
  readonly state: AuthorityState | undefined;
  readonly lost: boolean;
  /** `stale`: the guard refused the write of a holder that had just looked. `left`: it did not write, since its lock was gone, or nearly so. */
  readonly outcome: Outcome;
}

export interface Failure {
  readonly key: string;
  readonly startedAt: number;
  readonly code: string;
  readonly message: string;
}

export interface Look {
  readonly held: boolean;
  readonly told: boolean;
  readonly code: string | null;
}

export type Report =
  | { readonly type: 'ready' }
  | { readonly type: 'hold'; readonly hold: PodHold }
  | { readonly type: 'failure'; readonly failure: Failure }
  | { readonly type: 'change'; readonly change: AuthorityChange }
  | { readonly type: 'log'; readonly line: string }
  | { readonly type: 'done'; readonly order: Order['do']; readonly answer: unknown };

export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
