import { describe, expect, it } from '@jest/globals';
import { altered, manualLocks } from './support/manual-locks.js';

describe('The health of a manager', () => {
  it('is that of its store, and counts what it holds', async () => {
    const nodes = [{ node: 'a:6379', state: 'up' as const, latencyMs: 1 }];
    const check = (): Promise<{ status: 'up'; nodes: typeof nodes }> => Promise.resolve({ status: 'up', nodes });
    const { locks } = manualLocks((memory) => altered(memory, { check }));
    await locks.acquire('a');
    expect(await locks.health()).toEqual({ status: 'up', nodes, held: 1, lateRenewals: 0 });
  });

  it('is good for a store that cannot tell', async () => {
    const { locks } = manualLocks();
    expect(await locks.health()).toEqual({ status: 'up', nodes: [], held: 0, lateRenewals: 0 });
  });

  it('is degraded while locks lack more than one renewal, and good again when they have them', async () => {
    const { runtime, store, locks } = manualLocks();
    await locks.acquire('a', { ttl: '30s' });
    await locks.acquire('b', { ttl: '30s', autoRenew: false });
    store.fail('renew', 'reject');
    await runtime.advance(19_000);
    expect(await locks.health()).toMatchObject({ status: 'up', lateRenewals: 0 });
    await runtime.advance(1000);
    expect(await locks.health()).toMatchObject({ status: 'degraded', held: 2, lateRenewals: 1 });
    store.heal();
    await runtime.advance(2000);
    expect(await locks.health()).toMatchObject({ status: 'up', lateRenewals: 0 });
  });
});
