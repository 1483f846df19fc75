import { LockManager } from '../../../../lib/lock-manager.js';
import { systemRuntime, type Runtime } from '../../../../lib/runtime.js';
import { openFailover } from '../../../../lib/stores/failover/open-failover.js';
import { toFailoverTerms } from '../../../../lib/stores/failover/failover.options.js';
import type { LockStore } from '../../../../lib/stores/lock-store.js';
import { connectPostgres } from '../../../../lib/stores/postgres/index.js';
import { connectRedis } from '../../../../lib/stores/redis/redis.store.js';
import type { Locks, OpenLocks, OpenTerms } from '../adapter.js';

/** Long enough to be woken, short enough that whoever wants to try again at once does. */
const WAIT = '250ms';
/** So that a server that says nothing is noticed within a case; the defaults are seconds. */
const POSTGRES_TERMS = { heartbeat: '300ms', timeout: '300ms', sessionTimeout: '1s' } as const;
const FAILOVER_TERMS = { lease: '1s', failoverAfter: '300ms', returnAfter: '500ms' } as const;

const context = ({ ttlMs }: OpenTerms): { ttlMs: number; log: () => void } => ({ ttlMs, log: () => undefined });

/** With all defaults of the module. */
export const onRedis: OpenLocks = async (terms) =>
  locksOf(await connectRedis({ nodes: terms.nodes, ...context(terms) }), terms);

export const withoutQuarantine: OpenLocks = async (terms) =>
  locksOf(await connectRedis({ nodes: terms.nodes, ...context(terms), quarantine: 0 }), terms);

export const onPostgres: OpenLocks = async (terms) =>
  locksOf(await connectPostgres({ connection: terms.postgres, ...POSTGRES_TERMS }, context(terms)), terms);

export const withFallback: OpenLocks = async (terms) => {
  const redis = await connectRedis({ nodes: terms.nodes, ...context(terms) });
  const postgres = await connectPostgres({ connection: terms.postgres, ...POSTGRES_TERMS }, context(terms));
  const failover = toFailoverTerms(FAILOVER_TERMS);
  return locksOf(await openFailover(redis, postgres, failover, context(terms), systemRuntime), terms);
};

export function locksOf(store: LockStore, { ttlMs }: OpenTerms, runtime: Runtime = systemRuntime): Locks {
  const manager = new LockManager(store, { defaults: { ttl: `${ttlMs}ms`, wait: WAIT } }, runtime);
  return {
    run: async (key, work) => {
      await using lock = await manager.acquire(key);
      await work({
        held: () => lock.held,
        onLost: (told) => lock.signal.addEventListener('abort', told, { once: true }),
        token: lock.fencingToken,
      });
    },
    close: () => manager.shutdown(2000),
  };
}
