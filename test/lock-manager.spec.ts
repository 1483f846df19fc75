import { describe, expect, it } from '@jest/globals';
import { LockBusyError, LockLostError, LockReentryError, LockShutdownError } from '../lib/errors.js';
import { LockManager } from '../lib/lock-manager.js';
import { MemoryStore } from '../lib/stores/memory.store.js';

describe('LockManager', () => {
  it('gives a key to one taker at a time, with rising tokens', async () => {
    const locks = new LockManager(new MemoryStore());
    const first = await locks.acquire('a');
    await expect(locks.acquire('a')).rejects.toBeInstanceOf(LockBusyError);
    expect(await locks.tryAcquire('a')).toBeNull();
    expect(await first.release()).toBe(true);
    await using second = await locks.acquire('a');
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    expect(first.held).toBe(false);
    expect(() => first.assertHeld()).toThrow(LockLostError);
  });

  it('lets waiters in one after the other, in order of arrival', async () => {
    const locks = new LockManager(new MemoryStore());
    const first = await locks.acquire('a');
    const order: number[] = [];
    const waiting = [1, 2, 3].map((n) => locks.withLock('a', { wait: '5s' }, async () => void order.push(n)));
    await first.release();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3]);
  });

  it('refuses re-entry at once, and shares the lock on request', async () => {
    const locks = new LockManager(new MemoryStore());
    await locks.withLock('a', async (lock) => {
      await expect(locks.acquire('a', { wait: '1m' })).rejects.toBeInstanceOf(LockReentryError);
      await using inner = await locks.acquire('a', { reentrant: true });
      expect(inner.fencingToken).toBe(lock.fencingToken);
      expect(LockManager.current()).toBe(lock);
    });
    expect(await locks.isLocked('a')).toBe(false);
  });

  it('gives several keys one token, above which every key goes on', async () => {
    const locks = new LockManager(new MemoryStore());
    const both = await locks.acquire(['b', 'a', 'b']);
    expect(both.keys).toEqual(['a', 'b']);
    await both.release();
    await using a = await locks.acquire('a');
    expect(a.fencingToken).toBeGreaterThan(both.fencingToken);
  });

  it('rejects waiters on shutdown', async () => {
    const locks = new LockManager(new MemoryStore());
    const held = await locks.acquire('a');
    const waiting = expect(locks.acquire('a', { wait: '1m' })).rejects.toBeInstanceOf(LockShutdownError);
    await locks.shutdown(100);
    await waiting;
    expect(held.held).toBe(false);
  });
});
