import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from '@jest/globals';
import { LockManager } from '../lib/lock-manager.js';
import type { LockEventMap, LockEventName } from '../lib/lock-events.js';
import { MemoryStore } from '../lib/stores/memory.store.js';
import type { StoreObserver } from '../lib/stores/store-observer.js';
import { altered, manualLocks, steal, watch } from './support/manual-locks.js';

const NAMES: readonly LockEventName[] = [
  ...(['granted', 'waiting', 'busy', 'unavailable', 'renewed', 'lost'] as const),
  ...(['released', 'overrun', 'nodeDown', 'nodeUp', 'authorityChanged'] as const),
];

/** All that a manager tells, with its name before it. */
function record(locks: LockManager, names = NAMES) {
  const told: [LockEventName, object][] = [];
  for (const name of names) locks.on(name, (event) => told.push([name, event]));
  return told;
}

const A = { manager: 'default', key: 'a', keys: ['a'], label: undefined };

describe('A manager', () => {
  it('tells of a lock: granted, renewed, released', async () => {
    const { runtime, locks } = manualLocks();
    const told = record(locks);
    const lock = await locks.acquire('a', { ttl: '9s', label: 'job' });
    await runtime.advance(3000);
    await runtime.advance(500);
    await lock.release();
    const { fencingToken } = lock;
    expect(told).toEqual([
      ['granted', { ...A, label: 'job', fencingToken, waitedMs: 0 }],
      ['renewed', { ...A, label: 'job', fencingToken, heldMs: 3000, ttlMs: 9000 }],
      ['released', { ...A, label: 'job', fencingToken, heldMs: 3500, ttlMs: 9000 }],
    ]);
  });

  it('tells of a wait once, with how long it took', async () => {
    const { runtime, locks } = manualLocks();
    const told = record(locks, ['waiting', 'granted']);
    const first = await locks.acquire('a');
    const second = locks.acquire('a', { wait: '10s' });
    const third = locks.acquire('a', { wait: '10s' });
    await runtime.advance(2500);
    await first.release();
    await (await second).release();
    await (await third).release();
    const waits = told.map(([name, event]) => [name, (event as LockEventMap['granted']).waitedMs]);
    expect(waits).toEqual([
      ['granted', 0],
      ['waiting', undefined],
      ['waiting', undefined],
      ['granted', 2500],
      ['granted', 2500],
    ]);
  });

  it('does not tell of a wait that was none', async () => {
    const { locks } = manualLocks();
    const told = record(locks, ['waiting']);
    await (await locks.acquire('a', { wait: '10s' })).release();
    expect(told).toEqual([]);
  });

  it('tells of a busy key, and how long it was waited for', async () => {
    const { runtime, memory, locks } = manualLocks();
    await memory.acquire('a', 'someone else', 60_000);
    const told = record(locks, ['busy', 'granted']);
    await expect(locks.acquire('a')).rejects.toMatchObject({ code: 'LOCK_BUSY' });
    const waiting = watch(locks.acquire('a', { wait: '2s' }));
    await runtime.advance(2000);
    expect(waiting.outcome).toMatchObject({ error: { code: 'LOCK_BUSY' } });
    expect(await locks.tryAcquire('a')).toBeNull();
    expect(told.map(([, event]) => event)).toEqual([0, 2000, 0].map((waitedMs) => ({ ...A, waitedMs })));
  });

  it('tells of a store that cannot decide, and of nothing for bad input or an aborted wait', async () => {
    const { runtime, store, memory, locks } = manualLocks();
    const told = record(locks, ['busy', 'unavailable', 'granted', 'released']);
    store.fail('acquire', 'reject');
    await expect(locks.acquire('a')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(told).toEqual([
      ['unavailable', { ...A, waitedMs: 0, error: expect.objectContaining({ code: 'LOCK_UNAVAILABLE', key: 'a' }) }],
    ]);
    await expect(locks.acquire('')).rejects.toMatchObject({ code: 'LOCK_OPTIONS' });
    store.heal();
    await memory.acquire('b', 'someone else', 60_000);
    const leaving = new AbortController();
    const waiting = watch(locks.acquire('b', { wait: '5s', signal: leaving.signal }));
    leaving.abort();
    await runtime.advance(0);
    expect(waiting.outcome).not.toBe('pending');
    expect(told).toHaveLength(1);
  });

  it('tells of a loss, and why', async () => {
    const { runtime, memory, locks } = manualLocks();
    const told = record(locks, ['lost', 'released', 'overrun']);
    const { fencingToken } = await locks.acquire('a', { ttl: '9s' });
    await steal(memory, 'a');
    await runtime.advance(3000);
    expect(told).toEqual([['lost', { ...A, fencingToken, heldMs: 3000, ttlMs: 9000, reason: 'taken' }]]);
  });

  it('tells of work that outlived a lock without renewal', async () => {
    const { runtime, locks } = manualLocks();
    const told = record(locks, ['lost', 'overrun']);
    const { fencingToken } = await locks.acquire('a', { ttl: '1s', autoRenew: false });
    await runtime.advance(1000);
    expect(told.map(([name]) => name)).toEqual(['overrun', 'lost']);
    expect(told[0]![1]).toMatchObject({ ...A, fencingToken, ttlMs: 1000 });
    expect(told[1]![1]).toMatchObject({ reason: 'expired' });
  });

  it('does not tell of an overrun when a lock with renewal expires', async () => {
    const { runtime, store, locks } = manualLocks();
    const told = record(locks, ['lost', 'overrun']);
    await locks.acquire('a', { ttl: '1s' });
    store.fail('renew', 'reject');
    await runtime.advance(1000);
    expect(told.map(([name]) => name)).toEqual(['lost']);
  });

  it('tells nobody of a lock that came too late for its caller', async () => {
    const { store, locks } = manualLocks();
    const told = record(locks, ['granted', 'released', 'lost']);
    const leaving = new AbortController();
    const asked = locks.acquire('a', { signal: leaving.signal });
    leaving.abort();
    await expect(asked).rejects.toThrow(/abort/);
    expect(store.calls.release).toBe(1);
    expect(told).toEqual([]);
  });

  it('hands on what its store says of its servers, also what was so before it came', () => {
    const observers: StoreObserver[] = [];
    const observe = (observer: StoreObserver): (() => void) => {
      observers.push(observer);
      return () => undefined;
    };
    const locks = new LockManager(altered(new MemoryStore(), { observe }), { name: 'billing' });
    const told = record(locks, ['nodeDown', 'nodeUp', 'authorityChanged']);
    observers[0]!.nodeDown('a:6379', 'refused');
    observers[0]!.nodeUp('a:6379');
    observers[0]!.authorityChanged({ from: 'REDIS', to: 'DRAINING', epoch: 2, reason: 'gone' });
    expect(told).toEqual([
      ['nodeDown', { manager: 'billing', node: 'a:6379', reason: 'refused' }],
      ['nodeUp', { manager: 'billing', node: 'a:6379' }],
      ['authorityChanged', { manager: 'billing', from: 'REDIS', to: 'DRAINING', epoch: 2, reason: 'gone' }],
    ]);
  });

  it('tells whoever watches the process, of each manager by its name', async () => {
    const heard: object[] = [];
    const onMessage = (event: unknown): void => void heard.push(event as object);
    subscribe('nestjs-fenced-lock:granted', onMessage);
    for (const name of ['one', 'two'])
      await (await new LockManager(new MemoryStore(), { name }).acquire('a')).release();
    unsubscribe('nestjs-fenced-lock:granted', onMessage);
    expect(heard).toMatchObject([
      { manager: 'one', key: 'a' },
      { manager: 'two', key: 'a' },
    ]);
  });
});
