import { describe, expect, it } from '@jest/globals';
import { LockLostError } from '../lib/errors.js';
import { LockManager } from '../lib/lock-manager.js';
import { altered, manualLocks, steal, watch } from './support/manual-locks.js';

const LEASE_MS = 29_698;

describe('release', () => {
  it('frees the key, once, and says that it was ours', async () => {
    const { memory, store, locks } = manualLocks();
    const lock = await locks.acquire('a');
    expect(await lock.release()).toBe(true);
    expect((await memory.inspect('a')).locked).toBe(false);
    await memory.acquire('a', 'next', 1000);
    expect(await lock.release()).toBe(true);
    await lock[Symbol.asyncDispose]();
    expect(store.calls.release).toBe(1);
    expect((await memory.inspect('a')).owner).toBe('next');
  });

  it('ends the lock for its holder when it is asked for, not when it is answered', async () => {
    const { store, locks } = manualLocks();
    const lock = await locks.acquire('a');
    store.fail('release', 'hang');
    void lock.release();
    expect(lock.held).toBe(false);
    expect(lock.remaining).toBe(0);
    expect(() => lock.assertHeld()).toThrow(LockLostError);
    expect(() => lock.assertHeld()).toThrow(/already been released/);
  });

  it('comes with the end of `await using`', async () => {
    const { memory, locks } = manualLocks();
    {
      await using lock = await locks.acquire('a');
      expect(lock.held).toBe(true);
    }
    expect((await memory.inspect('a')).locked).toBe(false);
  });

  it('is no loss: neither the signal nor the log hears of it', async () => {
    const { runtime, locks, warnings } = manualLocks();
    const lock = await locks.acquire('a');
    const { signal } = lock;
    await lock.release();
    await runtime.advance(60_000);
    expect(signal.aborted).toBe(false);
    expect(lock.loss).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  it('leaves no timer, and nothing that would touch the store', async () => {
    const { runtime, store, locks } = manualLocks();
    const lock = await locks.acquire('a');
    await runtime.advance(25_000);
    await lock.release();
    expect(runtime.pendingTimers).toBe(0);
    const { ...calls } = store.calls;
    await runtime.advance(600_000);
    expect(store.calls).toEqual(calls);
  });

  it.each(['hang', 'reject', 'late', 'lost'] as const)(
    'supersedes a renewal in flight: one that will %s changes nothing, and none follows',
    async (fault) => {
      const { runtime, memory, store, locks } = manualLocks();
      const lock = await locks.acquire('a');
      store.fail('renew', fault, 1);
      await runtime.advance(10_000);
      const released = watch(lock.release());
      await runtime.advance(0);
      expect(released.outcome).toEqual({ value: true });
      store.heal();
      await runtime.advance(600_000);
      expect(lock.loss).toBeUndefined();
      expect(store.calls).toMatchObject({ renew: 1, release: 1 });
      expect((await memory.inspect('a')).locked).toBe(false);
      expect(runtime.pendingTimers).toBe(0);
    },
  );

  it('says false, and that the lock was lost, when it was not ours any more', async () => {
    const { memory, locks, warnings } = manualLocks();
    const lock = await locks.acquire('a');
    await steal(memory, 'a');
    await memory.acquire('a', 'someone else', 60_000);
    expect(await lock.release()).toBe(false);
    expect(lock.loss).toMatchObject({ reason: 'taken' });
    expect(warnings).toEqual([lock.loss!.message]);
    expect((await memory.inspect('a')).owner).toBe('someone else');
  });

  it('is sent for a lost lock too, since some nodes may still have it', async () => {
    const { runtime, store, locks } = manualLocks();
    const lock = await locks.acquire('a', { autoRenew: false });
    await runtime.advance(LEASE_MS);
    expect(await lock.release()).toBe(false);
    expect(store.calls.release).toBe(1);
    expect(lock.loss).toMatchObject({ reason: 'expired' });
  });

  it('says false and never throws when the store cannot be reached', async () => {
    const { runtime, store, locks, warnings } = manualLocks();
    const lock = await locks.acquire('a');
    store.fail('release', 'reject');
    expect(await lock.release()).toBe(false);
    expect(lock.loss).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('release had no clear answer')]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('comes to an end when the key has freed itself, though the store never answers', async () => {
    const { runtime, store, locks, warnings } = manualLocks();
    const lock = await locks.acquire('a');
    store.fail('release', 'hang');
    const released = watch(lock.release());
    await runtime.advance(29_999);
    expect(released.outcome).toBe('pending');
    await runtime.advance(1);
    expect(released.outcome).toEqual({ value: false });
    expect(warnings).toEqual([expect.stringContaining('release had no clear answer')]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('of a lock that was lost comes to an end as well when the store hangs', async () => {
    const { runtime, memory, store, locks } = manualLocks();
    const lock = await locks.acquire('a');
    await steal(memory, 'a');
    await lock.renew().catch(() => undefined);
    expect(lock.loss?.reason).toBe('taken');
    store.fail('release', 'hang');
    const released = watch(lock.release());
    await runtime.advance(30_000);
    expect(released.outcome).toEqual({ value: false });
    expect(runtime.pendingTimers).toBe(0);
  });

  it('changes nothing more when its answer comes after it was given up', async () => {
    const { runtime, store, locks, warnings } = manualLocks();
    const lock = await locks.acquire('a');
    store.fail('release', 'hang');
    const released = watch(lock.release());
    await runtime.advance(30_000);
    expect(released.outcome).toEqual({ value: false });
    expect(warnings).toHaveLength(1);
    store.fail('release', 'reject');
    store.heal();
    await runtime.advance(1);
    expect(warnings).toHaveLength(1);
    expect(lock.loss).toBeUndefined();
  });

  it('and a renewal take a store that throws where it should reject for one that rejects', async () => {
    const broken = (): never => {
      throw new Error('not a promise');
    };
    const { runtime, memory } = manualLocks();
    const warnings: string[] = [];
    const log = { warn: (message: string) => warnings.push(message) };
    const locks = new LockManager(altered(memory, { renew: broken, release: broken }), { log }, runtime);
    const lock = await locks.acquire('a');
    await runtime.advance(10_000);
    expect(warnings.join()).toContain('renew had no clear answer: Error: not a promise');
    expect(await lock.release()).toBe(false);
    expect(warnings.at(-1)).toContain('release had no clear answer: Error: not a promise');
  });
});

describe('minHold', () => {
  it('keeps the key taken until that long after the grant, however soon it is released', async () => {
    const { runtime, memory, locks } = manualLocks();
    const lock = await locks.acquire('a', { minHold: '10s' });
    await runtime.advance(2500);
    expect(await lock.release()).toBe(true);
    expect(lock.held).toBe(false);
    await runtime.advance(7499);
    expect((await memory.inspect('a')).locked).toBe(true);
    expect(await locks.tryAcquire('a')).toBeNull();
    await runtime.advance(1);
    expect((await memory.inspect('a')).locked).toBe(false);
  });

  it('counts from before the attempt was sent', async () => {
    const { runtime, memory, store, locks } = manualLocks();
    store.fail('acquire', 'late');
    const acquiring = locks.acquire('a', { minHold: '10s' });
    await runtime.advance(4000);
    store.heal();
    await (await acquiring).release();
    expect((await memory.inspect('a')).remainingMs).toBe(6000);
  });

  it('frees the key at once when it was held for longer', async () => {
    const { runtime, memory, locks } = manualLocks();
    const lock = await locks.acquire('a', { minHold: '10s' });
    await runtime.advance(10_000);
    await lock.release();
    expect((await memory.inspect('a')).locked).toBe(false);
  });

  it('may be longer than the ttl', async () => {
    const { runtime, memory, locks } = manualLocks();
    const lock = await locks.acquire('a', { ttl: '5s', minHold: '1m' });
    await runtime.advance(20_000);
    await lock.release();
    expect((await memory.inspect('a')).remainingMs).toBe(40_000);
  });
});

describe('maxHold', () => {
  it('ends the lock after that long, renewed or not, and lets the key free itself', async () => {
    const { runtime, memory, store, locks, warnings } = manualLocks();
    const lock = await locks.acquire('a', { ttl: '6s', maxHold: '19s' });
    const { signal } = lock;
    await runtime.advance(18_999);
    expect(signal.aborted).toBe(false);
    expect(lock.remaining).toBe(1);
    await runtime.advance(1);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ reason: 'max-hold' });
    expect(warnings).toEqual([lock.loss!.message]);
    const { renew } = store.calls;
    await runtime.advance(6000);
    expect(store.calls.renew).toBe(renew);
    expect((await memory.inspect('a')).locked).toBe(false);
  });

  it('is seen at the first look after a pause', async () => {
    const { runtime, locks } = manualLocks();
    const lock = await locks.acquire('a', { maxHold: '5s' });
    runtime.pause(5000);
    expect(lock.held).toBe(false);
    expect(lock.loss).toMatchObject({ reason: 'max-hold' });
  });
});
