import { describe, expect, it } from '@jest/globals';
import { LockLostError, LockUnavailableError } from '../lib/errors.js';
import { manualLocks, steal, watch } from './support/manual-locks.js';

const TTL_MS = 30_000;
const LEASE_MS = 29_698;
const INTERVAL_MS = 10_000;

describe('renewal', () => {
  it('goes out every third of the ttl and keeps the lock for as long as it is needed', async () => {
    const { runtime, memory, store, locks } = manualLocks();
    const lock = await locks.acquire('a', { ttl: TTL_MS / 1000 });
    await runtime.advance(INTERVAL_MS - 1);
    expect(store.calls.renew).toBe(0);
    await runtime.advance(1);
    expect(store.calls.renew).toBe(1);
    await runtime.advance(INTERVAL_MS * 59);
    expect(store.calls.renew).toBe(60);
    expect(lock.held).toBe(true);
    expect((await memory.inspect('a')).remainingMs).toBe(TTL_MS);
  });

  it('counts the new lease from before it was sent, not from the answer', async () => {
    const { runtime, store, locks } = manualLocks();
    const lock = await locks.acquire('a', { ttl: TTL_MS / 1000 });
    store.fail('renew', 'late');
    await runtime.advance(INTERVAL_MS + 5000);
    expect(lock.remaining).toBe(LEASE_MS - 15_000);
    store.heal();
    await runtime.advance(0);
    expect(lock.remaining).toBe(LEASE_MS - 5000);
    expect(store.calls.renew).toBe(1);
    await runtime.advance(5000);
    expect(store.calls.renew).toBe(2);
  });

  it('loses the lock at once when the store says that it is not ours any more, and asks no more', async () => {
    const { runtime, memory, store, locks, warnings } = manualLocks();
    const lock = await locks.acquire('a', { ttl: TTL_MS / 1000 });
    const { signal } = lock;
    await steal(memory, 'a');
    await runtime.advance(INTERVAL_MS);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ reason: 'taken' });
    expect(warnings).toEqual([lock.loss!.message]);
    expect(runtime.pendingTimers).toBe(0);
    await runtime.advance(TTL_MS);
    expect(store.calls.renew).toBe(1);
  });

  it('is repeated soon after it had no clear answer, and what holds then is the repetition', async () => {
    const { runtime, store, locks, warnings } = manualLocks();
    const lock = await locks.acquire('a', { ttl: TTL_MS / 1000 });
    store.fail('renew', 'reject', 1);
    await runtime.advance(INTERVAL_MS);
    expect(lock.held).toBe(true);
    expect(warnings).toEqual([expect.stringContaining('renew had no clear answer')]);
    await runtime.advance(1000);
    expect(store.calls.renew).toBe(2);
    expect(lock.remaining).toBe(LEASE_MS);
    await runtime.advance(TTL_MS);
    expect(lock.held).toBe(true);
  });

  it('is repeated until the lease ends, without becoming a hot loop', async () => {
    const { runtime, store, locks } = manualLocks();
    await locks.acquire('a', { ttl: TTL_MS / 1000 });
    store.fail('renew', 'reject');
    await runtime.advance(LEASE_MS - 1);
    expect(store.calls.renew).toBe(20);
    await runtime.advance(TTL_MS);
    expect(store.calls.renew).toBe(20);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('does not become a hot loop for the shortest ttl either', async () => {
    const { runtime, store, locks } = manualLocks();
    await locks.acquire('a', { ttl: '10ms' });
    store.fail('renew', 'reject');
    await runtime.advance(100);
    expect(store.calls.renew).toBeLessThanOrEqual(2);
  });

  it('is in flight once at a time for each lock', async () => {
    const { runtime, store, locks } = manualLocks();
    const lock = await locks.acquire('a', { ttl: TTL_MS / 1000 });
    store.fail('renew', 'hang');
    await runtime.advance(LEASE_MS - 1);
    expect(store.calls.renew).toBe(1);
    store.heal();
    await runtime.advance(1);
    // The lease counts from when the renewal was sent, so the next one is overdue.
    expect(store.calls.renew).toBe(2);
    expect(lock.held).toBe(true);
  });

  it('of many locks goes out together', async () => {
    const { runtime, store, locks } = manualLocks();
    for (let index = 0; index < 100; index++) {
      await locks.acquire(`key ${index}`, { ttl: TTL_MS / 1000 });
      await runtime.advance(9);
    }
    await runtime.advance(INTERVAL_MS - 901);
    expect(store.calls.renew).toBe(0);
    await runtime.advance(1);
    expect(store.calls.renew).toBe(100);
    expect(runtime.pendingTimers).toBe(1);
  });

  it('does not happen without autoRenew, where the ttl is a hard limit', async () => {
    const { runtime, store, locks } = manualLocks();
    const lock = await locks.acquire('a', { ttl: TTL_MS / 1000, autoRenew: false });
    const { signal } = lock;
    await runtime.advance(LEASE_MS);
    expect(signal.aborted).toBe(true);
    expect(store.calls.renew).toBe(0);
  });
});

describe('renewal by hand', () => {
  it('gives the lock a whole ttl from now', async () => {
    const { runtime, locks } = manualLocks();
    const lock = await locks.acquire('a', { ttl: TTL_MS / 1000, autoRenew: false });
    await runtime.advance(20_000);
    await lock.renew();
    expect(lock.remaining).toBe(LEASE_MS);
    const { signal } = lock;
    await runtime.advance(LEASE_MS - 1);
    expect(signal.aborted).toBe(false);
    await runtime.advance(1);
    expect(signal.aborted).toBe(true);
  });

  it('joins a renewal that is in flight', async () => {
    const { runtime, store, locks } = manualLocks();
    const lock = await locks.acquire('a', { ttl: TTL_MS / 1000 });
    store.fail('renew', 'hang');
    await runtime.advance(INTERVAL_MS);
    const renewing = watch(lock.renew());
    await runtime.advance(0);
    expect(renewing.outcome).toBe('pending');
    expect(store.calls.renew).toBe(1);
    store.heal();
    await runtime.advance(0);
    expect(renewing.outcome).toEqual({ value: undefined });
  });

  it('rejects when the lock is not ours any more', async () => {
    const { memory, locks } = manualLocks();
    const lock = await locks.acquire('a');
    await steal(memory, 'a');
    await expect(lock.renew()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'taken' });
    expect(lock.held).toBe(false);
  });

  it('rejects when the store cannot say, and the lock is still held', async () => {
    const { store, locks } = manualLocks();
    const lock = await locks.acquire('a');
    store.fail('renew', 'reject');
    await expect(lock.renew()).rejects.toBeInstanceOf(LockUnavailableError);
    expect(lock.held).toBe(true);
  });

  it('rejects at the end of the lease when the store never answers', async () => {
    const { runtime, store, locks } = manualLocks();
    const lock = await locks.acquire('a', { ttl: TTL_MS / 1000 });
    store.fail('renew', 'hang');
    const renewing = watch(lock.renew());
    await runtime.advance(LEASE_MS - 1);
    expect(renewing.outcome).toBe('pending');
    await runtime.advance(1);
    expect(renewing.outcome).toMatchObject({ error: { code: 'LOCK_LOST', reason: 'expired' } });
  });

  it('rejects after the release and after the loss, without asking the store', async () => {
    const { runtime, store, locks } = manualLocks();
    const released = await locks.acquire('a');
    await released.release();
    await expect(released.renew()).rejects.toMatchObject({ reason: 'released' });
    const lost = await locks.acquire('b');
    runtime.pause(TTL_MS);
    await expect(lost.renew()).rejects.toBeInstanceOf(LockLostError);
    expect(store.calls.renew).toBe(0);
  });
});
