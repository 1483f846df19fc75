import { systemRuntime } from '../../lib/runtime.js';
import { toFailoverTerms } from '../../lib/stores/failover/failover.options.js';
import { openFailover } from '../../lib/stores/failover/open-failover.js';
import type { LockStore } from '../../lib/stores/lock-store.js';
import { MemoryStore } from '../../lib/stores/memory.store.js';
import { connectPostgres } from '../../lib/stores/postgres/index.js';
import { connectRedis } from '../../lib/stores/redis/redis.store.js';

/** Where a contender locks: on Redis, on Postgres, on Redis with Postgres to stand in for it, or, with neither, within its process. */
export interface StoreTerms {
  readonly nodes?: readonly string[];
  readonly postgres?: string;
}

const LOG = { log: (): void => undefined };

export async function openStore({ nodes, postgres }: StoreTerms, ttlMs: number): Promise<LockStore> {
  if (!nodes && !postgres) return new MemoryStore();
  // A lone node that comes back empty has to sit out its quarantine here, too: two holders must never meet.
  const redis = nodes && (await connectRedis({ nodes, ttlMs, nodeTimeout: ttlMs / 3000, quarantine: ttlMs / 1000 }));
  if (!postgres) return redis!;
  const context = { ttlMs, ...LOG };
  const connection = { connection: postgres, heartbeat: '300ms', timeout: '1s', sessionTimeout: '3s' } as const;
  const store = await connectPostgres(connection, context);
  if (!redis) return store;
  const terms = toFailoverTerms({ lease: '1s', failoverAfter: '300ms', returnAfter: '500ms' });
  return openFailover(redis, store, terms, context, systemRuntime);
}
