import type { AuthorityChange, DistributedLockModuleOptions } from 'nestjs-fenced-lock';
import { postgres } from 'nestjs-fenced-lock/postgres';
import { SCHEMA } from '../database/schema.js';
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
  /** Where locks go when Redis is away: the URL of a PostgreSQL. */
  readonly fallbackUrl?: string | undefined;
}

/** Redlock over the given nodes, and Postgres behind them if there is one. */
export function redisLocks(
  { redisNodes, breakLock, fallbackUrl }: LockSource,
  onAuthorityChange: (change: AuthorityChange) => void,
): DistributedLockModuleOptions {
  if (breakLock) return { store: new BrokenStore(), defaults };
  // Three servers, three pods and the database share one machine here, so that a node may take its time without being down.
  const options = { nodes: [...redisNodes], nodeTimeout: '500ms', defaults } as const;
  return fallbackUrl ? { ...options, ...withFallback(fallbackUrl, onAuthorityChange) } : options;
}

/**
 * Much shorter than the defaults, under which the way to Postgres takes some 42 s. A lock survives that way if two thirds of its ttl are longer than
 * `failoverAfter`, `lease` and two looks (each a third of `lease`) together.
 */
function withFallback(url: string, onAuthorityChange: (change: AuthorityChange) => void) {
  // Its tables belong to the sample's schema, too.
  const connection = { connectionString: url, options: `-c search_path=${SCHEMA}` };
  return {
    defaults: { ttl: '4s' },
    fallback: postgres({ connection }),
    failover: { lease: '600ms', failoverAfter: '500ms', returnAfter: '1s', onAuthorityChange },
  } satisfies DistributedLockModuleOptions;
}
