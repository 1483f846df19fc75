import { hostname } from 'node:os';
import type { Runtime } from '../../runtime.js';
import type { StoreContext } from '../store-source.js';
import { AuthorityLease } from './authority-lease.js';
import type { FailoverTerms } from './failover.options.js';
import { FailoverStore } from './failover.store.js';
import type { FallbackStore } from './fallback-store.js';
import type { PrimaryStore } from './primary-store.js';
import { RedisHealth } from './redis-health.js';

/** Joins two open stores to one, after a first look at the authority row. */
export async function openFailover(
  redis: PrimaryStore,
  fallback: FallbackStore,
  terms: FailoverTerms,
  { ttlMs, log }: StoreContext,
  runtime: Runtime,
): Promise<FailoverStore> {
  const pod = `${hostname()}/${runtime.random.id()}`;
  const health = new RedisHealth(redis, terms, pod, runtime, ttlMs);
  const lease = new AuthorityLease(fallback, health, pod, ttlMs, terms, runtime, log);
  await lease.start();
  return new FailoverStore(redis, fallback, lease, runtime);
}
