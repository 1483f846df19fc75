import { describe, expect, it } from '@jest/globals';
import { LockBusyError, LockLostError, LockOptionsError, LockUnavailableError } from '../lib/errors.js';
import { MemoryStore } from '../lib/stores/memory.store.js';
import { manualLocks, steal, altered, watch } from './support/manual-locks.js';

const KEYS = ['a', 'b', 'c'];

async function taken(memory: MemoryStore): Promise<string[]> {
  const states = await Promise.all(KEYS.map((key) => memory.inspect(key)));
  return KEYS.filter((_, index) => states[index]!.locked);
}

describe('a lock over several keys', () => {
  it('has them sorted, each once', async () => {
    const { memory, store, locks } = manualLocks();
    await using lock = await locks.acquire(['c', 'a', 'b', 'a']);
    expect(lock.keys).toEqual(KEYS);
    expect(lock.key).toBe('a');
    expect(store.calls.acquire).toBe(3);
    expect(await taken(memory)).toEqual(KEYS);
  });

  it('is a plain one when all keys are the same', async () => {
    const { store, locks } = manualLocks();
    await using lock = await locks.acquire(['a', 'a']);
    expect(lock.keys).toEqual(['a']);
    expect(store.calls).toMatchObject({ acquire: 1, raise: 0 });
  });

  it('has one token, the highest, and every key knows it', async () => {
    const { memory, locks } = manualLocks();
    const before = await locks.acquire('b');
    await memory.raise('b', (await memory.inspect('b')).owner!, before.fencingToken + 1_000_000);
    await before.release();
    await using lock = await locks.acquire(KEYS);
    expect(lock.fencingToken).toBeGreaterThan(before.fencingToken + 1_000_000);
    for (const key of KEYS) expect((await memory.inspect(key)).fencingToken).toBe(lock.fencingToken);
  });

  it('is all or nothing', async () => {
    const { runtime, memory, locks } = manualLocks();
    await memory.acquire('b', 'someone else', 60_000);
    const error: unknown = await locks.acquire(KEYS).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockBusyError);
    expect(error).toMatchObject({ key: 'b', retryAfterMs: 60_000 });
    await runtime.advance(0);
    expect(await taken(memory)).toEqual(['b']);
    expect((await memory.inspect('b')).owner).toBe('someone else');
  });

  it('is undone where the store had no clear answer for one of them', async () => {
    const { runtime, memory, store, locks } = manualLocks();
    store.fail('acquire', 'reject', 1);
    await expect(locks.acquire(KEYS)).rejects.toBeInstanceOf(LockUnavailableError);
    await runtime.advance(0);
    expect(await taken(memory)).toEqual([]);
  });

  it.each(['reject', 'lost'] as const)('is undone when the common token could not be set (%s)', async (fault) => {
    const { runtime, memory, store, locks } = manualLocks();
    store.fail('raise', fault, 1);
    await expect(locks.acquire(KEYS)).rejects.toBeInstanceOf(LockUnavailableError);
    await runtime.advance(0);
    expect(await taken(memory)).toEqual([]);
  });

  it('is undone when the common token was refused', async () => {
    const { runtime, memory, locks } = manualLocks((inner) => altered(inner, { raise: async () => false }));
    await expect(locks.acquire(KEYS)).rejects.toBeInstanceOf(LockBusyError);
    await runtime.advance(0);
    expect(await taken(memory)).toEqual([]);
  });

  it('is undone on every key when it came too late', async () => {
    const { runtime, memory, store, locks } = manualLocks();
    store.fail('raise', 'late');
    const acquiring = watch(locks.acquire(KEYS));
    await runtime.advance(29_698);
    expect(acquiring.outcome).toMatchObject({ error: expect.any(LockUnavailableError) });
    expect(await taken(memory)).toEqual(KEYS);
    store.heal();
    await runtime.advance(0);
    expect(await taken(memory)).toEqual([]);
  });

  it('needs a store that can raise a token, which one key does not', async () => {
    const { store, locks } = manualLocks((inner) => altered(inner, { raise: undefined }));
    await expect(locks.acquire(KEYS)).rejects.toBeInstanceOf(LockOptionsError);
    expect(store.calls.acquire).toBe(0);
    await using lock = await locks.acquire('a');
    expect(lock.held).toBe(true);
  });

  it('is renewed on every key, and lost with any of them', async () => {
    const { runtime, memory, store, locks } = manualLocks();
    const lock = await locks.acquire(KEYS);
    await runtime.advance(10_000);
    expect(store.calls.renew).toBe(3);
    for (const key of KEYS) expect((await memory.inspect(key)).remainingMs).toBe(30_000);
    await steal(memory, 'c');
    await runtime.advance(10_000);
    expect(lock.held).toBe(false);
    expect(lock.loss).toBeInstanceOf(LockLostError);
    expect(lock.loss).toMatchObject({ reason: 'taken' });
  });

  it('is not renewed while one key has no clear answer', async () => {
    const { runtime, store, locks } = manualLocks();
    const lock = await locks.acquire(KEYS);
    await runtime.advance(9_999);
    store.fail('renew', 'reject', 1);
    await runtime.advance(1);
    expect(lock.remaining).toBe(19_698);
    await runtime.advance(1000);
    expect(lock.remaining).toBe(29_698);
  });

  it('is released on every key, also where one was lost or is out of reach', async () => {
    const { memory, store, locks } = manualLocks();
    const lost = await locks.acquire(KEYS);
    await steal(memory, 'a');
    expect(await lost.release()).toBe(false);
    expect(lost.loss).toMatchObject({ reason: 'taken' });
    expect(await taken(memory)).toEqual([]);
    const cut = await locks.acquire(KEYS);
    store.fail('release', 'reject', 1);
    expect(await cut.release()).toBe(false);
    expect(cut.loss).toBeUndefined();
    expect(await taken(memory)).toEqual(['a']);
  });

  it('keeps every key for minHold', async () => {
    const { runtime, memory, locks } = manualLocks();
    await (await locks.acquire(KEYS, { minHold: '10s' })).release();
    await runtime.advance(9999);
    expect(await taken(memory)).toEqual(KEYS);
    await runtime.advance(1);
    expect(await taken(memory)).toEqual([]);
  });

  it('waits for all of them, in an order in which nobody waits for ever', async () => {
    const { runtime, locks } = manualLocks();
    const transfers = [
      ['a', 'b'],
      ['b', 'a'],
      ['b', 'c'],
      ['c', 'a'],
      ['c', 'b', 'a'],
    ];
    let running = 0;
    let most = 0;
    const all = Promise.all(
      [...transfers, ...transfers].map((keys) =>
        locks.withLock(keys, { wait: '10m' }, async () => {
          most = Math.max(most, ++running);
          await runtime.advance(0);
          running--;
        }),
      ),
    );
    const done = watch(all);
    for (let round = 0; round < 50; round++) await runtime.advance(1000);
    expect(done.outcome).not.toBe('pending');
    await all;
    // Any two of these have a key in common.
    expect(most).toBe(1);
    expect(runtime.pendingTimers).toBe(0);
  });
});
