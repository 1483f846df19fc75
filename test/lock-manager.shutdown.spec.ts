import { describe, expect, it } from '@jest/globals';
import { LockShutdownError } from '../lib/errors.js';
import { altered, manualLocks, watch } from './support/manual-locks.js';

const SHUTDOWN = { error: expect.any(LockShutdownError) };

function closable(close: () => Promise<void> = async () => undefined) {
  let closed = 0;
  const setUp = manualLocks((memory) =>
    altered(memory, {
      close: () => {
        closed++;
        return close();
      },
    }),
  );
  return { ...setUp, closed: () => closed };
}

describe('shutdown', () => {
  it('is over at once when nothing is held, and closes the store', async () => {
    const { runtime, locks, closed } = closable();
    const shutdown = watch(locks.shutdown(10_000));
    await runtime.advance(0);
    expect(shutdown.outcome).toEqual({ value: undefined });
    expect(closed()).toBe(1);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('grants nothing any more, and asks no store', async () => {
    const { store, locks } = closable();
    void locks.shutdown();
    await expect(locks.acquire('a')).rejects.toBeInstanceOf(LockShutdownError);
    await expect(locks.acquire('a', { wait: '1m' })).rejects.toBeInstanceOf(LockShutdownError);
    await expect(locks.tryAcquire('a')).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN', key: 'a' });
    await expect(locks.withLock('a', () => 'done')).rejects.toBeInstanceOf(LockShutdownError);
    expect(store.calls.acquire).toBe(0);
  });

  it('ends every wait at once', async () => {
    const { runtime, memory, locks } = closable();
    await memory.acquire('a', 'someone else', 600_000);
    const waiting = [1, 2, 3].map(() => watch(locks.acquire('a', { wait: '1m' })));
    await runtime.advance(5000);
    const shutdown = watch(locks.shutdown(10_000));
    await runtime.advance(0);
    for (const { outcome } of waiting) expect(outcome).toMatchObject(SHUTDOWN);
    expect(shutdown.outcome).toEqual({ value: undefined });
    expect(runtime.pendingTimers).toBe(0);
  });

  it.each([0, '1m'])('returns a grant that was under way (wait: %p)', async (wait) => {
    const { runtime, memory, store, locks } = closable();
    store.fail('acquire', 'late');
    const acquiring = watch(locks.acquire('a', { wait }));
    await runtime.advance(0);
    const shutdown = watch(locks.shutdown(10_000));
    await runtime.advance(100);
    expect((await memory.inspect('a')).locked).toBe(true);
    expect(shutdown.outcome).toEqual(wait === 0 ? 'pending' : { value: undefined });
    store.heal();
    await runtime.advance(0);
    expect(acquiring.outcome).toMatchObject(SHUTDOWN);
    expect((await memory.inspect('a')).locked).toBe(false);
    expect(shutdown.outcome).toEqual({ value: undefined });
  });

  it('lets held work finish while its locks are renewed', async () => {
    const { runtime, memory, locks, closed } = closable();
    const lock = await locks.acquire('a', { ttl: '3s' });
    const shutdown = watch(locks.shutdown(60_000));
    await runtime.advance(40_000);
    expect(lock.held).toBe(true);
    expect(shutdown.outcome).toBe('pending');
    expect(closed()).toBe(0);
    await lock.release();
    await runtime.advance(0);
    expect(shutdown.outcome).toEqual({ value: undefined });
    expect(closed()).toBe(1);
    expect((await memory.inspect('a')).locked).toBe(false);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('does not wait for a lock that is lost', async () => {
    const { runtime, locks } = closable();
    await locks.acquire('a', { ttl: '3s', autoRenew: false });
    const shutdown = watch(locks.shutdown(60_000));
    await runtime.advance(3000);
    expect(shutdown.outcome).toEqual({ value: undefined });
  });

  it('aborts what is still held near its limit, releases it, and closes the store after that', async () => {
    const { runtime, memory, store, locks, closed } = closable();
    const working = watch(locks.withLock('a', () => new Promise<never>(() => undefined)));
    const lock = await locks.acquire('b');
    const { signal } = lock;
    const shutdown = watch(locks.shutdown(10_000));
    await runtime.advance(8999);
    expect(signal.aborted).toBe(false);
    store.fail('release', 'hang', 1);
    await runtime.advance(1);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'shutdown' });
    expect(closed()).toBe(0);
    store.heal();
    await runtime.advance(0);
    expect(closed()).toBe(1);
    expect(shutdown.outcome).toEqual({ value: undefined });
    for (const key of ['a', 'b']) expect((await memory.inspect(key)).locked).toBe(false);
    expect(working.outcome).toBe('pending');
  });

  it('tells work that went on to its end what it lost', async () => {
    const { runtime, locks } = closable();
    let finish!: (result: string) => void;
    const work = new Promise<string>((resolve) => (finish = resolve));
    const working = watch(locks.withLock('a', () => work));
    await runtime.advance(0);
    void locks.shutdown(10_000);
    await runtime.advance(10_000);
    finish('billed');
    await runtime.advance(0);
    expect(working.outcome).toMatchObject({ error: { code: 'LOCK_LOST', reason: 'shutdown', result: 'billed' } });
  });

  it('is over within its limit though no store answers', async () => {
    const { runtime, store, locks, warnings } = closable(() => new Promise(() => undefined));
    await locks.acquire('a');
    store.fail('acquire', 'hang');
    store.fail('renew', 'hang');
    store.fail('release', 'hang');
    const acquiring = watch(locks.acquire('b'));
    const shutdown = watch(locks.shutdown(10_000));
    await runtime.advance(9_999);
    expect(shutdown.outcome).toBe('pending');
    await runtime.advance(1);
    expect(shutdown.outcome).toEqual({ value: undefined });
    await runtime.advance(60_000);
    expect(acquiring.outcome).toMatchObject({ error: { code: 'LOCK_UNAVAILABLE' } });
    expect(warnings).not.toEqual([]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('is over within its limit though the store cannot be closed', async () => {
    const hanging = closable(() => new Promise(() => undefined));
    const hung = watch(hanging.locks.shutdown(10_000));
    await hanging.runtime.advance(10_000);
    expect(hung.outcome).toEqual({ value: undefined });

    const failing = closable(() => Promise.reject(new Error('already closed')));
    const failed = watch(failing.locks.shutdown(10_000));
    await failing.runtime.advance(0);
    expect(failed.outcome).toEqual({ value: undefined });
  });

  it('happens once, whoever calls for it and how often', async () => {
    const { runtime, locks, closed } = closable();
    void locks.shutdown(10_000);
    const both = watch(Promise.all([locks.shutdown(10_000), locks.shutdown(1)]));
    await runtime.advance(0);
    expect(both.outcome).not.toBe('pending');
    expect(closed()).toBe(1);
  });

  it('has a limit of ten seconds unless told otherwise', async () => {
    const { runtime, locks } = closable();
    await locks.acquire('a');
    const shutdown = watch(locks.shutdown());
    await runtime.advance(8999);
    expect(shutdown.outcome).toBe('pending');
    await runtime.advance(1);
    expect(shutdown.outcome).toEqual({ value: undefined });
  });
});
