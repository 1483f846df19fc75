import { describe, expect, it } from '@jest/globals';
import { LockReentryError } from '../lib/errors.js';
import { manualLocks, watch } from './support/manual-locks.js';

const SHARE = { reentrant: true } as const;

describe('re-entry', () => {
  it('is refused at once, also to who would wait, and without asking the store', async () => {
    const { store, locks } = manualLocks();
    await locks.withLock('a', async () => {
      await expect(locks.acquire('a', { wait: '1m' })).rejects.toBeInstanceOf(LockReentryError);
      await expect(locks.withLock('a', () => undefined)).rejects.toMatchObject({ code: 'LOCK_REENTRY', key: 'a' });
      expect(store.calls.acquire).toBe(1);
    });
  });

  it('is never taken for "busy"', async () => {
    const { locks } = manualLocks();
    await locks.withLock('a', () => expect(locks.tryAcquire('a')).rejects.toBeInstanceOf(LockReentryError));
  });

  it('is found through any number of other locks in between', async () => {
    const { locks } = manualLocks();
    await locks.withLock('a', () =>
      locks.withLock('b', () =>
        locks.withLock('c', () => expect(locks.acquire('a')).rejects.toBeInstanceOf(LockReentryError)),
      ),
    );
  });

  it('shares the lock on request: one token, one lease, one release', async () => {
    const { memory, store, locks } = manualLocks();
    await locks.withLock('a', async (outer) => {
      const inner = await locks.acquire('a', SHARE);
      expect(inner).toMatchObject({ key: 'a', keys: ['a'], fencingToken: outer.fencingToken, held: true });
      expect(inner.signal).toBe(outer.signal);
      expect(inner.remaining).toBe(outer.remaining);
      await inner.renew();
      expect(store.calls.renew).toBe(1);
      expect(await inner.release()).toBe(true);
      expect(inner.held).toBe(false);
      expect(inner.remaining).toBe(0);
      expect(() => inner.assertHeld()).toThrow(/already been released/);
      await expect(inner.renew()).rejects.toMatchObject({ reason: 'released' });
      expect(await inner.release()).toBe(false);
      outer.assertHeld();
      expect((await memory.inspect('a')).locked).toBe(true);
    });
    expect(store.calls).toMatchObject({ acquire: 1, release: 1 });
  });

  it('shares at any depth', async () => {
    const { memory, locks } = manualLocks();
    const depth = (left: number): Promise<number> =>
      locks.withLock('a', SHARE, (lock) => (left === 0 ? lock.fencingToken : depth(left - 1)));
    await locks.withLock('a', async (outer) => {
      expect(await depth(5)).toBe(outer.fencingToken);
      outer.assertHeld();
    });
    expect((await memory.inspect('a')).locked).toBe(false);
  });

  it('takes the lock where it is not held yet', async () => {
    const { memory, locks } = manualLocks();
    await locks.withLock('a', SHARE, async () => expect((await memory.inspect('a')).locked).toBe(true));
    expect((await memory.inspect('a')).locked).toBe(false);
  });

  it('tells who shares a lock that it was lost', async () => {
    const { runtime, locks } = manualLocks();
    const working = locks.withLock('a', { autoRenew: false }, async () => {
      const inner = await locks.acquire('a', SHARE);
      await runtime.advance(30_000);
      expect(inner.held).toBe(false);
      expect(inner.loss).toMatchObject({ reason: 'expired' });
      expect(inner.signal.aborted).toBe(true);
    });
    await expect(working).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it('shares a part of what is held, and refuses more than is held', async () => {
    const { store, locks } = manualLocks();
    await locks.withLock(['a', 'b'], async (outer) => {
      const inner = await locks.acquire('b', SHARE);
      expect(inner.fencingToken).toBe(outer.fencingToken);
      await expect(locks.acquire(['b', 'c'], SHARE)).rejects.toMatchObject({ code: 'LOCK_REENTRY', key: 'b' });
      await expect(locks.acquire(['b', 'c'])).rejects.toBeInstanceOf(LockReentryError);
      expect(store.calls.acquire).toBe(2);
    });
  });

  it('leaves other keys alone', async () => {
    const { locks } = manualLocks();
    await locks.withLock('a', async (outer) => {
      await using inner = await locks.acquire('A', SHARE);
      expect(inner.fencingToken).not.toBe(outer.fencingToken);
    });
  });

  it('is none once the outer lock was released', async () => {
    const { locks } = manualLocks();
    await locks.withLock('a', async (outer) => {
      await outer.release();
      await using again = await locks.acquire('a', SHARE);
      expect(again.fencingToken).toBeGreaterThan(outer.fencingToken);
    });
  });

  it('is none while the release of the outer lock is still to be answered', async () => {
    const { runtime, store, locks } = manualLocks();
    await locks.withLock('a', async (outer) => {
      store.fail('release', 'late', 1);
      const released = watch(outer.release());
      await using again = await locks.acquire('a');
      expect(again.fencingToken).toBeGreaterThan(outer.fencingToken);
      expect(released.outcome).toBe('pending');
      store.heal();
      await runtime.advance(0);
    });
  });

  it('is none once the outer lock was lost', async () => {
    const { runtime, locks } = manualLocks();
    await locks.withLock('a', { autoRenew: false, onLost: 'ignore' }, async (outer) => {
      await runtime.advance(30_000);
      await using again = await locks.acquire('a');
      expect(again.fencingToken).toBeGreaterThan(outer.fencingToken);
    });
  });

  it('is none for work that outlives the call it was started in', async () => {
    const { runtime, locks } = manualLocks();
    let detached: Promise<number> | undefined;
    const outer = await locks.withLock('a', async (lock) => {
      detached = runtime.advance(1000).then(() => locks.withLock('a', (late) => late.fencingToken));
      return lock.fencingToken;
    });
    expect(await detached).toBeGreaterThan(outer);
  });

  it('is none between calls that run side by side', async () => {
    const { runtime, locks } = manualLocks();
    const order: string[] = [];
    const first = locks.withLock('a', async () => {
      await runtime.advance(1000);
      order.push('first');
    });
    const second = watch(locks.withLock('a', { wait: '1m', reentrant: true }, () => order.push('second')));
    await first;
    await runtime.advance(0);
    expect(second.outcome).toEqual({ value: 2 });
    expect(order).toEqual(['first', 'second']);
  });

  it('is none in another manager, which has locks of its own', async () => {
    const { locks } = manualLocks();
    const other = manualLocks();
    await locks.withLock('a', async (lock) => {
      await using elsewhere = await other.locks.acquire('a', SHARE);
      expect(await elsewhere.release()).toBe(true);
      lock.assertHeld();
    });
    expect(other.store.calls.acquire).toBe(1);
  });
});
