import type { Promises } from '../../../simulation/grant-log.js';
import type { ModelNode } from './model-node.js';

/**
 * Under which conditions a run takes place. In all of them requests and replies are lost, delayed, reordered and carried out twice, callers stop waiting, and
 * processes die.
 */
export interface Conditions {
  readonly nodes: number;
  /**
   * any: any node forgets any lock at any time, and its clock stands still otherwise; callers stop waiting at any time.
   * honest: locks and time-outs end by clocks that run at speeds at most 1 % apart.
   */
  readonly expiry: 'any' | 'honest';
  /** Nodes restart empty, one or all; fences are forgotten as if their retention were over. */
  readonly amnesia: boolean;
  /** Whether a node that came up empty gives out nothing for one ttl. */
  readonly quarantine: boolean;
  /** How far wall clocks may be off, in ms. wild: by weeks, or all standing still, so that all processes propose the same. */
  readonly skewMs: number | 'wild';
  /** Where the commit round matters most: one key, requests carried out again and again, locks that expire almost at once. */
  readonly storm?: boolean;
  /** A variant of the node. */
  readonly Node?: typeof ModelNode;
  /** What else is claimed, to see the claim refuted. */
  readonly claimed?: Partial<Promises>;
}

/** Two clocks that are each off by the skew, and a proposal that counts whole ms. */
export function disagreement(skewMs: number): number {
  return 2 * skewMs + 2;
}

/**
 * What is promised under these conditions.
 *
 * Tokens, while no node forgets a fence: distinct, and rising from a grant to whatever begins after it. No clock matters: neither those of the nodes (expiry
 * at any time) nor those of the processes.
 *
 * Tokens, when nodes come up empty: rising from a grant to what begins after it by more than the clocks disagree. Within that time, and for attempts that
 * overlap, nothing is promised.
 *
 * Mutual exclusion, by leases as `validity()` counts them: while clocks run at speeds at most 1 % apart, and nodes either forget nothing or abstain for one
 * ttl after they came up empty. A restart also ends the node's connections, and with them what was under way to it.
 */
export function promisesUnder({ amnesia, expiry, quarantine, skewMs, claimed }: Conditions): Promises {
  if (amnesia && skewMs === 'wild') throw new Error('After amnesia nothing is promised unless the skew is bounded');
  return {
    distinct: !amnesia,
    risingAfterMs: amnesia ? disagreement(skewMs as number) : 0,
    exclusive: expiry === 'honest' && (!amnesia || quarantine),
    ...claimed,
  };
}
