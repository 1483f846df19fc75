import type { AuthorityState } from './failover/authority.js';

/** How one server is, as this process sees it. */
export interface NodeHealth {
  /** The node or server, without credentials. */
  readonly node: string;
  /** `quarantine`: it answers, but came back empty not long ago, and grants nothing until that is over. */
  readonly state: 'up' | 'quarantine' | 'down';
  /** How long it took to answer just now. */
  readonly latencyMs?: number;
  /** What is wrong with it. */
  readonly reason?: string;
  /** When its quarantine is over, on the wall clock. */
  readonly untilMs?: number;
}

/**
 * How a store is. `up`: as it should be. `degraded`: locks work, or will by themselves in a moment, but someone should look. `down`: nothing can be locked.
 */
export interface StoreHealth {
  readonly status: 'up' | 'degraded' | 'down';
  readonly nodes: readonly NodeHealth[];
  /** With a `fallback`: which store decides at present, as last seen. */
  readonly authority?: AuthorityState;
}

/** Of several independent nodes, so many of which have to answer. */
export function ofNodes(nodes: readonly NodeHealth[], needed: number): StoreHealth {
  const answering = nodes.filter(({ state }) => state !== 'down').length;
  const well = nodes.every(({ state }) => state === 'up');
  return { status: answering < needed ? 'down' : well ? 'up' : 'degraded', nodes };
}
