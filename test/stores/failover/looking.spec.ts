import { describe, expect, it } from '@jest/globals';
import type { KeyState } from '../../../lib/stores/lock-store.js';
import { FailoverBench, TTL_MS } from './stand-ins.js';

async function listed(bench: FailoverBench, limit = 2): Promise<string[]> {
  const found: KeyState[] = [];
  for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
    const page = await bench.store.list!({ prefix: '', limit, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.keys);
    ({ cursor } = page);
  }
  return found.map(({ key, owner }) => `${key} of ${owner}`).sort();
}

describe('Looking at locks that may be in either store', () => {
  async function withBoth(): Promise<FailoverBench> {
    const bench = await FailoverBench.start();
    for (const key of ['a', 'b', 'c']) await bench.redis.acquire(key, 'redis', TTL_MS);
    for (const key of ['b', 'd', 'e', 'f']) await bench.postgres.acquire(key, 'postgres', TTL_MS);
    return bench;
  }
  const onPostgres = ['b of postgres', 'd of postgres', 'e of postgres', 'f of postgres'];

  it('shows those of the store that decides', async () => {
    const bench = await withBoth();
    expect(await listed(bench)).toEqual(['a of redis', 'b of redis', 'c of redis']);
    await bench.to('POSTGRES');
    expect(await listed(bench)).toEqual(onPostgres);
    await bench.to('BOTH');
    expect(await listed(bench)).toEqual(onPostgres);
  });

  it('shows both while locks are moving, and what has moved once', async () => {
    const bench = await withBoth();
    await bench.to('DRAINING');
    for (const limit of [1, 2, 100]) {
      expect(await listed(bench, limit)).toEqual(['a of redis', ...onPostgres, 'c of redis'].sort());
    }
  });

  it('starts with the other store where locks have moved in the midst of a listing', async () => {
    const bench = await withBoth();
    const { cursor } = await bench.store.list!({ prefix: '', limit: 1 });
    await bench.to('POSTGRES');
    const page = await bench.store.list!({ prefix: '', limit: 100, cursor: cursor! });
    expect(page.keys.map(({ key }) => key)).toEqual(['b', 'd', 'e', 'f']);
    await expect(bench.store.list!({ prefix: '', limit: 1, cursor: 'x' })).rejects.toMatchObject({ option: 'cursor' });
  });

  it('takes a key by force from every store that may decide', async () => {
    const bench = await withBoth();
    expect(await bench.store.forceRelease!('b')).toBe(true);
    expect((await bench.postgres.inspect('b')).locked).toBe(true);
    await bench.redis.acquire('b', 'redis again', TTL_MS);
    await bench.to('POSTGRES');
    expect(await bench.store.forceRelease!('b')).toBe(true);
    expect((await bench.redis.inspect('b')).locked).toBe(true);
    for (const state of ['BOTH', 'DRAINING'] as const) {
      await bench.to(state);
      await bench.postgres.acquire('b', 'postgres', TTL_MS);
      await bench.redis.acquire('b', 'redis', TTL_MS);
      expect(await bench.store.forceRelease!('b')).toBe(true);
      expect([await bench.postgres.inspect('b'), await bench.redis.inspect('b')]).toMatchObject([
        { locked: false },
        { locked: false },
      ]);
      expect(await bench.store.forceRelease!('b')).toBe(false);
    }
  });

  it('does not say that it is done when one of two gave no answer', async () => {
    const bench = await withBoth();
    await bench.to('BOTH');
    bench.redis.forceRelease = () => Promise.reject(new Error('out of reach'));
    await expect(bench.store.forceRelease!('b')).rejects.toThrow('out of reach');
  });

  it.each(['REDIS', 'POSTGRES', 'BOTH'] as const)('tells a holder in %s by its next renewal', async (state) => {
    const bench = await FailoverBench.start();
    await bench.to(state);
    await bench.store.acquire('k', 'o', TTL_MS);
    expect(await bench.store.renew('k', 'o', TTL_MS)).toBe(true);
    expect(await bench.store.forceRelease!('k')).toBe(true);
    expect(await bench.store.renew('k', 'o', TTL_MS)).toBe(false);
  });
});
