import { describe, expect, it } from '@jest/globals';
import { LockManager, LockUnavailableError, MemoryStore, type LockPage, type LockQuery } from 'nestjs-fenced-lock';
import { ManualRuntime } from 'nestjs-fenced-lock/testing';
import { readLocks } from '../../lib/dashboard/lock-snapshot.js';

describe('A reading of the locks', () => {
  const runtime = new ManualRuntime();

  it('goes on to the last page', async () => {
    const locks = new LockManager(new MemoryStore(runtime), {}, runtime);
    for (let index = 0; index < 2500; index++) await locks.acquire(`key:${index}`);
    const { pages, truncated } = await readLocks(locks, runtime.clock);
    expect(pages.map((page) => page.locks.length)).toEqual([1000, 1000, 500]);
    expect(truncated).toBe(false);
  });

  it('stops at the most that a page shows, and says that there are more', async () => {
    const limits: number[] = [];
    const list = async ({ limit = 0 }: LockQuery): Promise<LockPage> => {
      limits.push(limit);
      return {
        locks: Array.from({ length: limit }, (_, index) => ({ key: `${index}`, locked: true })),
        cursor: 'more',
      };
    };
    const { truncated } = await readLocks({ list }, runtime.clock, 2500);
    expect(limits).toEqual([1000, 1000, 500]);
    expect(truncated).toBe(true);
  });

  it('says how long it took, and between which moments each page was seen', async () => {
    let rounds = 0;
    const list = async (): Promise<LockPage> => {
      runtime.pause(20);
      return ++rounds === 2 ? { locks: [] } : { locks: [], cursor: 'more' };
    };
    const startedAt = runtime.clock.wall();
    const { pages, readMs } = await readLocks({ list }, runtime.clock);
    expect(readMs).toBe(40);
    expect(pages.map(({ askedAt, answeredAt }) => [askedAt - startedAt, answeredAt - startedAt])).toEqual([
      [0, 20],
      [20, 40],
    ]);
  });

  it('fails as the listing does', async () => {
    const list = (): Promise<LockPage> => Promise.reject(new LockUnavailableError('', [{ node: 'a', reason: 'dead' }]));
    await expect(readLocks({ list }, runtime.clock)).rejects.toThrow(LockUnavailableError);
  });
});
