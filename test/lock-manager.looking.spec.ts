import { describe, expect, it } from '@jest/globals';
import { LockLostError, LockOptionsError } from '../lib/errors.js';
import { LockManager } from '../lib/lock-manager.js';
import { MemoryStore } from '../lib/stores/memory.store.js';
import { ManualRuntime } from '../lib/testing/index.js';
import { altered } from './support/manual-locks.js';

function setUp() {
  const runtime = new ManualRuntime();
  const store = new MemoryStore(runtime);
  return { runtime, store, locks: new LockManager(store, {}, runtime), other: new LockManager(store, {}, runtime) };
}

describe('LockManager, looked at', () => {
  it('lists its locks, and those of others, with who holds them and since when', async () => {
    const { runtime, locks, other } = setUp();
    await locks.acquire('job:a');
    const since = new Date(runtime.clock.wall());
    await runtime.advance(5000);
    await other.acquire(['job:b', 'other']);
    const { locks: listed, cursor } = await other.list({ prefix: 'job:' });
    expect(cursor).toBeUndefined();
    expect(listed).toMatchObject([
      { key: 'job:a', locked: true, pid: process.pid, since },
      { key: 'job:b', locked: true, pid: process.pid, since: new Date(since.getTime() + 5000) },
    ]);
  });

  it('gives what the store calls its owner where another made that', async () => {
    const { store, locks } = setUp();
    await store.acquire('a', 'somebody', 1000);
    expect((await locks.list()).locks).toEqual([
      { key: 'a', locked: true, owner: 'somebody', remainingMs: 1000, fencingToken: expect.any(Number), waiters: 0 },
    ]);
  });

  it('goes from page to page', async () => {
    const { locks } = setUp();
    for (const key of ['a', 'b', 'c']) await locks.acquire(key);
    const first = await locks.list({ limit: 2 });
    const second = await locks.list({ limit: 2, cursor: first.cursor! });
    expect([first, second].map((page) => page.locks.map(({ key }) => key))).toEqual([['a', 'b'], ['c']]);
    expect(second).not.toHaveProperty('cursor');
  });

  it('counts the processes that wait for a key', async () => {
    const { runtime, locks, other } = setUp();
    const lock = await locks.acquire('a');
    const waiting = [other.acquire('a', { wait: '5s' }), other.acquire('a', { wait: '5s' })];
    await runtime.advance(1);
    expect(await locks.inspect('a')).toMatchObject({ waiters: 1 });
    await lock.release();
    await runtime.advance(100);
    await (await waiting[0]!).release();
    await runtime.advance(100);
    await (await waiting[1]!).release();
  });

  it('takes a lock by force: whoever waits has it with a higher token, the holder is told by its next renewal', async () => {
    const { runtime, locks, other } = setUp();
    const lock = await locks.acquire('a', { ttl: '30s' });
    const waiting = other.acquire('a', { wait: '5s' });
    await runtime.advance(1);
    expect(await other.forceRelease('a')).toBe(true);
    await runtime.advance(1);
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    await runtime.advance(10_000);
    expect(lock.loss).toMatchObject({ constructor: LockLostError, reason: 'taken' });
    expect(next.held).toBe(true);
    expect(await other.forceRelease('b')).toBe(false);
  });

  it.each(['list', 'forceRelease', 'inspect'] as const)('says so where the store has no %s', async (verb) => {
    const { store } = setUp();
    const locks = new LockManager(altered(store, { [verb]: undefined }));
    const refused = await (verb === 'list' ? locks.list() : locks[verb]('a')).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LockOptionsError);
    expect((refused as Error).message).toContain(`\`${verb}\``);
  });

  it.each(['', 'x'.repeat(513), '\ud800'])('takes no key by force that cannot be one (%#)', async (key) => {
    await expect(setUp().locks.forceRelease(key)).rejects.toBeInstanceOf(LockOptionsError);
  });
});
