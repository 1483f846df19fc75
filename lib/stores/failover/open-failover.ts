import { hostname } from 'node:os';
import { LockOptionsError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { LockStore } from '../lock-store.js';
import type { StoreContext } from '../store-source.js';
import { AuthorityLease } from './authority-lease.js';
import type { FailoverTerms } from './failover.options.js';
import { FailoverStore } from './failover.store.js';
import type { FallbackStore } from './fallback-store.js';
import type { PrimaryStore } from './primary-store.js';
import { RedisHealth } from './redis-health.js';

/**
 * Joins two open stores to one, after a first look at the authority row.
 * @throws LockOptionsError for a store that cannot stand in; it is closed then.
 */
export async function openFailover(
  redis: PrimaryStore,
  fallback: FallbackStore,
  terms: FailoverTerms,
  { ttlMs, log }: StoreContext,
  runtime: Runtime,
): Promise<FailoverStore> {
  if (typeof fallback.consult !== 'function') {
    await (fallback as LockStore).close?.();
    const remedy =
      "it keeps no authority row, as postgres(…) does on a session of its own: connect it directly or through a session pool, without `mode: 'transaction'`.";
    throw new LockOptionsError('fallback', fallback, remedy);
  }
  const pod = `${hostname()}/${runtime.random.id()}`;
  const health = new RedisHealth(redis, terms, pod, runtime, ttlMs);
  const lease = new AuthorityLease(fallback, health, pod, ttlMs, terms, runtime, log);
  await lease.start();
  return new FailoverStore(redis, fallback, lease, runtime);
}
