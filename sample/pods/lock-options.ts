import type { DistributedLockModuleOptions } from 'nestjs-fenced-lock';
import { BrokenStore } from '../stores/broken.store.js';

/**
 * Two seconds instead of the default thirty, so that a run is over soon: the slow worker's lease runs out sooner, and so does
 * the quarantine of freshly started Redis nodes, which lasts one default ttl. In production leave both alone: a longer ttl forgives
 * longer pauses.
 */
export const defaults = { ttl: '2s' } as const;

export interface LockSource {
  readonly redisNodes: readonly string[];
  readonly breakLock: boolean;
}

/** Redlock over the given nodes. */
export function redisLocks({ redisNodes, breakLock }: LockSource): DistributedLockModuleOptions {
  if (breakLock) return { store: new BrokenStore(), defaults };
  // Three servers, three pods and the database share one machine here, so that a node may take its time without being down.
  return { nodes: [...redisNodes], nodeTimeout: '500ms', defaults };
}
