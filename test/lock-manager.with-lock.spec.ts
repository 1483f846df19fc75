import { describe, expect, it, jest } from '@jest/globals';
import { LockLostError, LockOptionsError, LockUnavailableError } from '../lib/errors.js';
import { LockManager } from '../lib/lock-manager.js';
import type { Lock } from '../lib/lock.js';
import { manualLocks, steal, watch } from './support/manual-locks.js';

const LEASE_MS = 29_698;

describe('withLock', () => {
  it('runs the work under the lock, returns what it returns, and frees the key', async () => {
    const { memory, locks } = manualLocks();
    const result = await locks.withLock('a', { ttl: '5s' }, async (lock) => {
      expect(lock.held).toBe(true);
      expect((await memory.inspect('a')).fencingToken).toBe(lock.fencingToken);
      return 'done';
    });
    expect(result).toBe('done');
    expect((await memory.inspect('a')).locked).toBe(false);
  });

  it('takes work that is synchronous, and options that are left out', async () => {
    const { locks } = manualLocks();
    expect(await locks.withLock('a', () => 42)).toBe(42);
  });

  it('renews for as long as the work takes', async () => {
    const { runtime, locks } = manualLocks();
    const result = await locks.withLock('a', async (lock) => {
      await runtime.advance(600_000);
      return lock.held;
    });
    expect(result).toBe(true);
  });

  it('makes the lock the current one, for all that the work calls, and only there', async () => {
    const { locks } = manualLocks();
    await locks.withLock('a', async (outer) => {
      await Promise.resolve();
      expect(LockManager.current()).toBe(outer);
      await locks.withLock('b', (inner) => expect(LockManager.current()).toBe(inner));
      expect(LockManager.current()).toBe(outer);
    });
    expect(LockManager.current()).toBeUndefined();
    await using lock = await locks.acquire('a');
    expect(lock.held).toBe(true);
    expect(LockManager.current()).toBeUndefined();
  });

  it('has no current lock once that was released', async () => {
    const { locks } = manualLocks();
    await locks.withLock('a', async (lock) => {
      await lock.release();
      expect(LockManager.current()).toBeUndefined();
    });
  });

  it.each([
    ['synchronous', () => fail()],
    ['asynchronous', async () => fail()],
  ])('passes a %s error of the work on, and frees the key', async (_kind, work) => {
    const { memory, locks } = manualLocks();
    await expect(locks.withLock('a', work)).rejects.toThrow('out of tickets');
    expect((await memory.inspect('a')).locked).toBe(false);
  });

  it('lets an error of the work win over the loss of the lock and over a failed release', async () => {
    const { runtime, store, locks } = manualLocks();
    const working = locks.withLock('a', { autoRenew: false }, async (lock) => {
      await runtime.advance(LEASE_MS);
      expect(lock.held).toBe(false);
      store.fail('release', 'reject');
      fail();
    });
    await expect(working).rejects.toThrow('out of tickets');
  });

  it('rejects with what was lost, and carries the result, when the lock was lost under work that returned', async () => {
    const { runtime, locks } = manualLocks();
    let held: Lock | undefined;
    const working = locks.withLock('a', { autoRenew: false }, async (lock) => {
      held = lock;
      await runtime.advance(LEASE_MS);
      return 'billed';
    });
    const error: unknown = await working.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({
      key: 'a',
      reason: 'expired',
      result: 'billed',
      fencingToken: held!.fencingToken,
    });
  });

  it('sees a lease that ended unnoticed during the last step of the work', async () => {
    const { runtime, locks } = manualLocks();
    const working = locks.withLock('a', () => runtime.pause(LEASE_MS));
    await expect(working).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
  });

  it('sees a lock that the release finds taken', async () => {
    const { memory, locks } = manualLocks();
    const working = locks.withLock('a', async () => {
      await steal(memory, 'a');
      return 'billed';
    });
    await expect(working).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'taken', result: 'billed' });
  });

  it("returns the result of work that lost its lock, with onLost: 'ignore'", async () => {
    const { runtime, locks } = manualLocks();
    const result = await locks.withLock('a', { autoRenew: false, onLost: 'ignore' }, async () => {
      await runtime.advance(LEASE_MS);
      return 'billed';
    });
    expect(result).toBe('billed');
  });

  it.each(['reject', 'lost'] as const)('returns the result though the release %s', async (fault) => {
    const { store, locks } = manualLocks();
    store.fail('release', fault);
    expect(await locks.withLock('a', () => 'billed')).toBe('billed');
  });

  it('brings the result, late, when the release hangs', async () => {
    const { runtime, store, locks } = manualLocks();
    store.fail('release', 'hang');
    const working = watch(locks.withLock('a', () => 'billed'));
    await runtime.advance(30_000);
    expect(working.outcome).toEqual({ value: 'billed' });
  });

  it('takes no offence at work that released the lock itself', async () => {
    const { store, locks } = manualLocks();
    const result = await locks.withLock('a', async (lock) => {
      await lock.release();
      return 'done';
    });
    expect(result).toBe('done');
    expect(store.calls.release).toBe(1);
  });

  it('does not start the work without the lock', async () => {
    const { memory, store, locks } = manualLocks();
    const work = jest.fn();
    await memory.acquire('a', 'someone else', 60_000);
    await expect(locks.withLock('a', work)).rejects.toMatchObject({ code: 'LOCK_BUSY' });
    store.fail('acquire', 'reject');
    await expect(locks.withLock('b', work)).rejects.toBeInstanceOf(LockUnavailableError);
    expect(work).not.toHaveBeenCalled();
  });

  it('refuses to take a lock for work that is no function', async () => {
    const { store, locks } = manualLocks();
    await expect(locks.withLock('a', {}, 'work' as never)).rejects.toBeInstanceOf(LockOptionsError);
    await expect(locks.withLock('a', undefined as never)).rejects.toBeInstanceOf(LockOptionsError);
    expect(store.calls.acquire).toBe(0);
  });
});

function fail(): never {
  throw new Error('out of tickets');
}
