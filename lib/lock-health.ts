import type { StoreHealth } from './stores/store-health.js';

/** How a manager is: its store, and what it holds. */
export interface LockHealth extends StoreHealth {
  /** How many locks this process holds. */
  readonly held: number;
  /** How many of them lack more than one renewal: they will be lost if that goes on. */
  readonly lateRenewals: number;
}

/** A store that cannot tell counts as well. */
export function toHealth(
  { status, ...store }: StoreHealth = { status: 'up', nodes: [] },
  held: number,
  lateRenewals: number,
): LockHealth {
  return { status: status === 'up' && lateRenewals > 0 ? 'degraded' : status, ...store, held, lateRenewals };
}
