import { toMs, type Duration } from '../../duration.js';
import { LockOptionsError } from '../../errors.js';
import type { AuthorityState } from './authority.js';

/** One change of the store that decides. */
export interface AuthorityChange {
  /** Undefined for the first look after the start. */
  readonly from: AuthorityState | undefined;
  readonly to: AuthorityState;
  readonly epoch: number;
  readonly reason: string;
}

/** How and when locks move from Redis to the fallback and back; docs/failover.md has the protocol. */
export interface FailoverOptions {
  /**
   * What happens to locks on Redis while the fallback is out of reach. 'strict' (default): none is granted or renewed once the lease on the authority row is over, so two
   * holders cannot meet. 'available': they go on, and two holders can meet if others switch meanwhile.
   */
  readonly policy?: 'strict' | 'available';
  /** How long a look at the authority row counts. Default 6 s; three looks are taken in that time. It is part of every switch; longer forgives longer hiccups of the fallback. */
  readonly lease?: Duration;
  /** For how long Redis must have failed before a process counts it as gone. Default 4 s. Shorter turns a hiccup into a switch, longer leaves a longer gap. */
  readonly failoverAfter?: Duration;
  /** For how long Redis must have worked before a process counts it as back. Default 10 s. Shorter may go back and forth. */
  readonly returnAfter?: Duration;
  /** Told of each change that this process sees. What it throws is logged. */
  readonly onAuthorityChange?: (change: AuthorityChange) => void;
}

export interface FailoverTerms {
  readonly available: boolean;
  readonly leaseMs: number;
  readonly failoverAfterMs: number;
  readonly returnAfterMs: number;
  readonly onAuthorityChange: (change: AuthorityChange) => void;
}

const LEASE_MS = 6000;
const FAILOVER_AFTER_MS = 4000;
const RETURN_AFTER_MS = 10_000;
/** Three looks must fit into it, with their answers. */
const SHORTEST_LEASE_MS = 300;
const KNOWN = ['policy', 'lease', 'failoverAfter', 'returnAfter', 'onAuthorityChange'];

/** @throws LockOptionsError naming the option, its value and what is accepted. */
export function toFailoverTerms(options: FailoverOptions = {}): FailoverTerms {
  if (typeof options !== 'object' || options === null) {
    throw new LockOptionsError('failover', options, "give an object such as { policy: 'strict' }.");
  }
  for (const name of Object.keys(options)) {
    if (!KNOWN.includes(name)) throw new LockOptionsError('failover option', name, `known are ${KNOWN.join(', ')}.`);
  }
  const { policy = 'strict', onAuthorityChange = () => undefined } = options;
  if (policy !== 'strict' && policy !== 'available') {
    throw new LockOptionsError('failover.policy', policy, "give 'strict' or 'available'.");
  }
  if (typeof onAuthorityChange !== 'function') {
    throw new LockOptionsError('failover.onAuthorityChange', onAuthorityChange, 'give a function.');
  }
  const ms = (name: 'lease' | 'failoverAfter' | 'returnAfter', fallbackMs: number, leastMs = 0): number =>
    options[name] === undefined ? fallbackMs : toMs(`failover.${name}`, options[name], leastMs);
  return {
    available: policy === 'available',
    leaseMs: ms('lease', LEASE_MS, SHORTEST_LEASE_MS),
    failoverAfterMs: ms('failoverAfter', FAILOVER_AFTER_MS),
    returnAfterMs: ms('returnAfter', RETURN_AFTER_MS),
    onAuthorityChange,
  };
}
