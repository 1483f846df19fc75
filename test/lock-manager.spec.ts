import { describe, expect, it } from '@jest/globals';
import { LockBusyError, LockLostError, LockOptionsError, LockUnavailableError } from '../lib/errors.js';
import { LockManager } from '../lib/lock-manager.js';
import type { LockOptions } from '../lib/lock.options.js';
import { MemoryStore } from '../lib/stores/memory.store.js';
import { altered, manualLocks } from './support/manual-locks.js';

describe('LockManager', () => {
  it('gives a key to one taker at a time, with rising tokens, on the clock and timers of the system', async () => {
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

  it('says who is busy, and for how long at most', async () => {
    const { memory, locks } = manualLocks();
    await memory.acquire('a', 'someone else', 5000);
    await expect(locks.acquire('a')).rejects.toMatchObject({ code: 'LOCK_BUSY', key: 'a', retryAfterMs: 5000 });
  });

  it('gives null for a busy key and the lock for a free one', async () => {
    const { memory, locks } = manualLocks();
    await memory.acquire('a', 'someone else', 5000);
    expect(await locks.tryAcquire('a')).toBeNull();
    const lock = await locks.tryAcquire('b');
    expect(lock).toMatchObject({ key: 'b', keys: ['b'], held: true });
    await lock!.release();
  });

  it.each(['reject', 'lost'] as const)('never takes an outage for a busy key (%s)', async (fault) => {
    const { store, locks } = manualLocks();
    store.fail('acquire', fault);
    await expect(locks.tryAcquire('a')).rejects.toBeInstanceOf(LockUnavailableError);
    await expect(locks.acquire('b')).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      key: 'b',
      causes: [{ node: 'store', reason: expect.stringContaining('injected fault') }],
    });
  });

  it('passes on what the store itself says of its nodes', async () => {
    const { locks } = manualLocks((memory) =>
      altered(memory, {
        acquire: () => Promise.reject(new LockUnavailableError('a', [{ node: 'redis:6379', reason: 'READONLY' }])),
      }),
    );
    await expect(locks.acquire('a')).rejects.toMatchObject({ causes: [{ node: 'redis:6379', reason: 'READONLY' }] });
  });

  it('looks at a key without touching it', async () => {
    const { store, locks } = manualLocks();
    expect(await locks.isLocked('a')).toBe(false);
    expect(await locks.inspect('a')).toEqual({ locked: false });
    await using lock = await locks.acquire('a', { ttl: '5s' });
    expect(await locks.isLocked('a')).toBe(true);
    expect(await locks.inspect('a')).toMatchObject({
      locked: true,
      remainingMs: 5000,
      fencingToken: lock.fencingToken,
    });
    expect(store.calls.acquire).toBe(1);
  });

  it('throws, and does not guess, when it cannot look', async () => {
    const { store, locks } = manualLocks();
    store.fail('inspect', 'reject');
    await expect(locks.isLocked('a')).rejects.toThrow('injected fault');
    const blind = manualLocks((memory) => altered(memory, { inspect: undefined })).locks;
    await expect(blind.isLocked('a')).rejects.toBeInstanceOf(LockOptionsError);
    await expect(locks.inspect('')).rejects.toBeInstanceOf(LockOptionsError);
  });

  it('uses its defaults where a call says nothing', async () => {
    const { memory, store } = manualLocks();
    const locks = new LockManager(store, { defaults: { ttl: '5s', autoRenew: false } });
    await locks.acquire('a');
    await locks.acquire('b', { ttl: '7s' });
    expect((await memory.inspect('a')).remainingMs).toBe(5000);
    expect((await memory.inspect('b')).remainingMs).toBe(7000);
  });

  it('refuses defaults that are no lock options', () => {
    const { store } = manualLocks();
    expect(() => new LockManager(store, { defaults: { ttl: 0 } })).toThrow(LockOptionsError);
  });

  it.each<[string, unknown, unknown]>([
    ['an empty key', '', {}],
    ['no key', [], {}],
    ['a key of 10 KB', 'x'.repeat(10_240), {}],
    ['a key that is missing', undefined, {}],
    ['a ttl of 0', 'a', { ttl: 0 }],
    ['a negative ttl', 'a', { ttl: -1 }],
    ['a ttl that is no number', 'a', { ttl: Number.NaN }],
    ['an endless ttl', 'a', { ttl: Number.POSITIVE_INFINITY }],
    ['a ttl below a millisecond', 'a', { ttl: 0.0001 }],
    ['a ttl without a unit', 'a', { ttl: '30' }],
    ['an unknown option', 'a', { timeout: 30 }],
  ])('refuses %s where it was given, and asks no store', async (_description, keys, options) => {
    const { store, locks } = manualLocks();
    const attempts = [
      () => locks.acquire(keys as string, options as LockOptions),
      () => locks.tryAcquire(keys as string, options as LockOptions),
      () => locks.withLock(keys as string, options as LockOptions, () => undefined),
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toBeInstanceOf(LockOptionsError);
    expect(store.calls.acquire).toBe(0);
  });
});
