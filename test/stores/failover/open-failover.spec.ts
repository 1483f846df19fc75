import { describe, expect, it, jest } from '@jest/globals';
import { toFailoverTerms } from '../../../lib/stores/failover/failover.options.js';
import { openFailover } from '../../../lib/stores/failover/open-failover.js';
import { MemoryStore } from '../../../lib/stores/memory.store.js';
import { ManualRuntime } from '../../../lib/testing/manual-runtime.js';
import { FallbackStandIn, LEASE_MS, PrimaryStandIn, TTL_MS } from './stand-ins.js';

function parts() {
  const runtime = new ManualRuntime();
  const log: string[] = [];
  const context = { ttlMs: 2 * TTL_MS, log: (line: string) => void log.push(line) };
  return { runtime, log, context, redis: new PrimaryStandIn(runtime), postgres: new FallbackStandIn(runtime) };
}

describe('openFailover', () => {
  it('has looked at the row, and announced the usual ttl, before it hands the store out', async () => {
    const { runtime, context, redis, postgres } = parts();
    const store = await openFailover(redis, postgres, toFailoverTerms(), context, runtime);
    expect(postgres.reports).toEqual([expect.objectContaining({ ttlMs: 2 * TTL_MS, leaseMs: LEASE_MS })]);
    expect(await store.acquire('k', 'o', 2 * TTL_MS)).toMatchObject({ acquired: true });
    await store.close();
  });

  it('starts without the row, too, says so, and works once it is there', async () => {
    const { runtime, context, redis, postgres, log } = parts();
    postgres.trouble = 'no answer';
    const store = await openFailover(redis, postgres, toFailoverTerms(), context, runtime);
    expect(log).toEqual([expect.stringContaining('no answer')]);
    await expect(store.acquire('k', 'o', TTL_MS)).rejects.toThrow(/authority row is out of reach/);
    postgres.trouble = undefined;
    expect(await store.acquire('k', 'o', TTL_MS)).toMatchObject({ acquired: true });
    await store.close();
  });

  it('gives each process a name of its own', async () => {
    const { runtime, context, redis, postgres } = parts();
    const stores = [1, 2].map(() => openFailover(redis, postgres, toFailoverTerms(), context, runtime));
    for (const store of await Promise.all(stores)) await store.close();
    expect(new Set(postgres.reports.map(({ pod }) => pod)).size).toBe(2);
  });

  it('closes both stores, and looks no more', async () => {
    const { runtime, context, redis, postgres } = parts();
    const closed = [redis, postgres].map((inner) => {
      const close = jest.fn(async () => undefined);
      return Object.assign(inner, { close }).close;
    });
    const store = await openFailover(redis, postgres, toFailoverTerms(), context, runtime);
    await store.close();
    for (const close of closed) expect(close).toHaveBeenCalledTimes(1);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('refuses, and closes, a store that cannot stand in', async () => {
    const { runtime, context, redis } = parts();
    const close = jest.fn(async () => undefined);
    const other = Object.assign(new MemoryStore(runtime), { close }) as unknown as FallbackStandIn;
    const opening = openFailover(redis, other, toFailoverTerms(), context, runtime);
    await expect(opening).rejects.toThrow(/fallback.*keeps no authority row.*mode: 'transaction'/);
    expect(close).toHaveBeenCalledTimes(1);
    expect(runtime.pendingTimers).toBe(0);
  });
});
