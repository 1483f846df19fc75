import { describe, expect, it } from '@jest/globals';
import { LockLostError, LockUnavailableError } from '../lib/errors.js';
import type { Lock } from '../lib/lock.js';
import { manualLocks, watch } from './support/manual-locks.js';

/** What a holder may rely on of 30 s: a hundredth and 2 ms are left to clocks that differ. */
const LEASE_MS = 29_698;
const UNRENEWED = { ttl: '30s', autoRenew: false } as const;

describe('a lease', () => {
  it('counts from before the attempt was sent, not from the answer', async () => {
    const { runtime, store, locks } = manualLocks();
    store.fail('acquire', 'late');
    const acquiring = locks.acquire('a', UNRENEWED);
    await runtime.advance(4000);
    store.heal();
    expect((await acquiring).remaining).toBe(LEASE_MS - 4000);
  });

  it('ends by the clock: a holder that woke from a pause knows at its first look, before any timer runs', async () => {
    const looks: ((lock: Lock) => unknown)[] = [
      (lock) => lock.held,
      (lock) => lock.remaining > 0,
      (lock) => !lock.signal.aborted,
      (lock) => {
        try {
          lock.assertHeld();
          return true;
        } catch (error) {
          expect(error).toBeInstanceOf(LockLostError);
          return false;
        }
      },
    ];
    for (const look of looks) {
      const { runtime, locks } = manualLocks();
      const lock = await locks.acquire('a');
      runtime.pause(LEASE_MS - 1);
      expect(look(lock)).toBe(true);
      runtime.pause(1);
      const late = await lockAfterPause();
      expect(look(late)).toBe(false);
      expect(late.loss).toMatchObject({ reason: 'expired', key: 'a', fencingToken: late.fencingToken });
    }

    async function lockAfterPause() {
      const { runtime, locks } = manualLocks();
      const lock = await locks.acquire('a');
      runtime.pause(LEASE_MS);
      return lock;
    }
  });

  it('tells a signal that was handed out earlier as soon as anyone looks', async () => {
    const { runtime, locks } = manualLocks();
    const lock = await locks.acquire('a');
    const { signal } = lock;
    runtime.pause(LEASE_MS);
    expect(lock.held).toBe(false);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBe(lock.loss);
  });

  it('counts the time a suspended machine slept', async () => {
    const { runtime, locks } = manualLocks();
    const lock = await locks.acquire('a');
    runtime.suspend(20_000);
    expect(lock.remaining).toBe(LEASE_MS - 20_000);
    runtime.suspend(LEASE_MS - 20_000);
    expect(lock.held).toBe(false);
  });

  it('is told to be over within a second of waking from a suspension, though nobody looks', async () => {
    const { runtime, locks } = manualLocks();
    const { signal } = await locks.acquire('a', UNRENEWED);
    await runtime.advance(5000);
    runtime.suspend(LEASE_MS - 5000);
    await runtime.advance(1000);
    expect(signal.aborted).toBe(true);
  });

  it('is renewed within a second of waking from a suspension that it outlived', async () => {
    const { runtime, store, locks } = manualLocks();
    const lock = await locks.acquire('a');
    runtime.suspend(20_000);
    await runtime.advance(1000);
    expect(store.calls.renew).toBe(1);
    expect(lock.remaining).toBe(LEASE_MS);
  });

  it('is not renewed back to life after a suspension', async () => {
    const { runtime, store, locks } = manualLocks();
    const lock = await locks.acquire('a');
    runtime.suspend(60_000);
    await runtime.advance(20_000);
    expect(lock.signal.aborted).toBe(true);
    expect(store.calls.renew).toBe(0);
  });

  it('does not grow when the wall clock is set back', async () => {
    const { runtime, locks } = manualLocks();
    const lock = await locks.acquire('a', UNRENEWED);
    runtime.skewWall(-3_600_000);
    expect(lock.remaining).toBe(LEASE_MS);
    runtime.pause(LEASE_MS);
    expect(lock.held).toBe(false);
  });

  it.each(['hang', 'reject', 'late', 'lost'] as const)(
    'aborts its signal at its end at the latest, though renewals %s',
    async (fault) => {
      const { runtime, store, locks, warnings } = manualLocks();
      const lock = await locks.acquire('a');
      const { signal } = lock;
      store.fail('renew', fault);
      await runtime.advance(LEASE_MS - 1);
      expect(signal.aborted).toBe(false);
      await runtime.advance(1);
      expect(signal.aborted).toBe(true);
      expect(signal.reason).toBeInstanceOf(LockLostError);
      expect(signal.reason).toMatchObject({ reason: 'expired' });
      expect(warnings).toContain(lock.loss!.message);
    },
  );

  it.each([
    ['late', 'yes'],
    ['hang', 'no'],
  ] as const)('stays over, and is told once, though a renewal (%s) still says %s', async (fault, _answer) => {
    const { runtime, store, locks, warnings } = manualLocks();
    const lock = await locks.acquire('a');
    store.fail('renew', fault);
    await runtime.advance(31_000);
    const { loss } = lock;
    store.heal();
    await runtime.advance(60_000);
    expect(lock.held).toBe(false);
    expect(lock.loss).toBe(loss);
    expect(loss).toMatchObject({ reason: 'expired' });
    expect(warnings).toEqual([loss!.message]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('can be longer than a timer can count', async () => {
    const { runtime, locks } = manualLocks();
    const lock = await locks.acquire('a', { ttl: '30d', autoRenew: false });
    const { signal } = lock;
    runtime.pause(lock.remaining - 1);
    await runtime.advance(0);
    expect(signal.aborted).toBe(false);
    await runtime.advance(1);
    expect(signal.aborted).toBe(true);
  });
});

describe('an attempt', () => {
  it('is given up, and undone, when its answer comes after its lease', async () => {
    const { runtime, memory, store, locks } = manualLocks();
    store.fail('acquire', 'late');
    const acquiring = watch(locks.acquire('a', { ttl: '30s' }));
    await runtime.advance(LEASE_MS - 1);
    expect(acquiring.outcome).toBe('pending');
    await runtime.advance(1);
    expect(acquiring.outcome).toMatchObject({ error: expect.any(LockUnavailableError) });
    expect((await memory.inspect('a')).locked).toBe(true);
    store.heal();
    await runtime.advance(0);
    expect((await memory.inspect('a')).locked).toBe(false);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('is undone when a pause used its lease up before the answer was read', async () => {
    const { runtime, memory, store, locks } = manualLocks();
    store.fail('acquire', 'late');
    const acquiring = watch(locks.acquire('a', { ttl: '30s' }));
    await runtime.advance(0);
    runtime.pause(LEASE_MS);
    expect((await memory.inspect('a')).locked).toBe(true);
    store.heal();
    await runtime.advance(0);
    expect(acquiring.outcome).toMatchObject({ error: expect.any(LockUnavailableError) });
    expect((await memory.inspect('a')).locked).toBe(false);
  });

  it('does not hang its caller when the store does', async () => {
    const { runtime, memory, store, locks } = manualLocks();
    store.fail('acquire', 'hang');
    const acquiring = watch(locks.acquire('a', { ttl: '30s' }));
    await runtime.advance(LEASE_MS);
    expect(acquiring.outcome).toMatchObject({ error: expect.any(LockUnavailableError) });
    store.heal();
    await runtime.advance(0);
    expect((await memory.inspect('a')).locked).toBe(false);
  });

  it('asks with an owner of its own, so that nothing left behind is taken for its lock', async () => {
    const { memory, store, locks } = manualLocks();
    const owners = new Set<string>();
    for (let attempt = 0; attempt < 3; attempt++) {
      const lock = await locks.acquire('a');
      owners.add((await memory.inspect('a')).owner!);
      await lock.release();
    }
    expect(owners.size).toBe(3);
    store.fail('acquire', 'lost', 1);
    await expect(locks.acquire('b')).rejects.toBeInstanceOf(LockUnavailableError);
    expect(await locks.tryAcquire('b')).toBeNull();
  });
});
