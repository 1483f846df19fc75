import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { LockBusyError, LockUnavailableError } from '../lib/errors.js';
import type { Lock } from '../lib/lock.js';
import type { AcquireResult, Place } from '../lib/stores/lock-store.js';
import type { MemoryStore } from '../lib/stores/memory.store.js';
import { altered, manualLocks, watch } from './support/manual-locks.js';

/** A store that tells nobody when a key comes free. */
const silent = (memory: MemoryStore) => altered(memory, { onFree: undefined });
const HOUR_MS = 3_600_000;
/** How long before their turn attempts that stand in line were sent. */
const SENT_AGO_MS = 300;

describe('waiting', () => {
  it('lets waiters in one after the other, in order of arrival', async () => {
    const { locks } = manualLocks();
    const first = await locks.acquire('a');
    const order: number[] = [];
    const waiting = [1, 2, 3].map((n) => locks.withLock('a', { wait: '5s' }, () => void order.push(n)));
    await first.release();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3]);
  });

  it('costs the store for 500 waiters what it costs for one', async () => {
    const costs = [];
    for (const waiters of [1, 500]) {
      const { runtime, memory, store, locks } = manualLocks(silent);
      await memory.acquire('a', 'someone else', HOUR_MS);
      const waiting = Array.from({ length: waiters }, () => watch(locks.acquire('a', { wait: '30s' })));
      await runtime.advance(29_999);
      costs.push(store.calls.acquire);
      expect(waiting.every(({ outcome }) => outcome === 'pending')).toBe(true);
    }
    expect(costs[1]).toBe(costs[0]);
    expect(costs[0]).toBeGreaterThan(20);
    expect(costs[0]).toBeLessThan(150);
  });

  it('ends for every waiter when its time is over, wherever in the queue it stands', async () => {
    const { runtime, memory, locks } = manualLocks();
    await memory.acquire('a', 'someone else', HOUR_MS);
    const first = watch(locks.acquire('a', { wait: '5s' }));
    const second = watch(locks.acquire('a', { wait: '3s' }));
    await runtime.advance(2999);
    expect(second.outcome).toBe('pending');
    await runtime.advance(1);
    expect(second.outcome).toMatchObject({ error: { code: 'LOCK_BUSY', key: 'a' } });
    await runtime.advance(1999);
    expect(first.outcome).toBe('pending');
    await runtime.advance(1);
    expect(first.outcome).toMatchObject({ error: expect.any(LockBusyError) });
    expect(first.outcome).toMatchObject({ error: { retryAfterMs: HOUR_MS - 5000 } });
    expect(first.outcome).toMatchObject({ error: { message: expect.stringContaining('within 5000 ms') } });
    expect(runtime.pendingTimers).toBe(0);
  });

  it('ends with null in tryAcquire', async () => {
    const { runtime, memory, locks } = manualLocks();
    await memory.acquire('a', 'someone else', HOUR_MS);
    const trying = watch(locks.tryAcquire('a', { wait: '1s' }));
    await runtime.advance(1000);
    expect(trying.outcome).toEqual({ value: null });
  });

  it('makes a last attempt when its time is over', async () => {
    const { runtime, memory, locks } = manualLocks(silent);
    await memory.acquire('a', 'someone else', HOUR_MS);
    const waiting = watch(locks.acquire('a', { wait: '40ms' }));
    await runtime.advance(39);
    await memory.release('a', 'someone else');
    await runtime.advance(1);
    expect(waiting.outcome).toMatchObject({ value: { held: true } });
  });

  it('ends at once when the key is released in this process, or the store tells that it is free', async () => {
    const here = manualLocks(silent);
    const held = await here.locks.acquire('a');
    const hereWaiting = watch(here.locks.acquire('a', { wait: '1m' }));
    await here.runtime.advance(20_000);
    await held.release();
    await here.runtime.advance(0);
    expect(hereWaiting.outcome).toMatchObject({ value: { held: true } });

    const there = manualLocks();
    await there.memory.acquire('a', 'someone else', HOUR_MS);
    const thereWaiting = watch(there.locks.acquire('a', { wait: '1m' }));
    await there.runtime.advance(20_000);
    await there.memory.release('a', 'someone else');
    await there.runtime.advance(0);
    expect(thereWaiting.outcome).toMatchObject({ value: { held: true } });
  });

  it('hears of a release that comes while an attempt is under way', async () => {
    for (const wrap of [silent, (memory: MemoryStore) => memory]) {
      const { runtime, store, locks } = manualLocks(wrap);
      const held = await locks.acquire('a');
      const first = watch(locks.acquire('a', { wait: '1m' }));
      await runtime.advance(20_000);
      store.fail('acquire', 'late', 1);
      const before = store.calls.acquire;
      while (store.calls.acquire === before) await runtime.advance(1);
      await held.release();
      store.heal();
      await runtime.advance(0);
      expect(first.outcome).toMatchObject({ value: { held: true } });
    }
  });

  it('asks nothing of the store while this process itself has the key', async () => {
    const { runtime, store, locks } = manualLocks(silent);
    const first = watch(locks.acquire('a', { wait: '1m' }));
    const second = watch(locks.acquire('a', { wait: '1m' }));
    await runtime.advance(0);
    expect(store.calls.acquire).toBe(1);
    await (first.outcome as { value: Lock }).value.release();
    await runtime.advance(0);
    expect(store.calls.acquire).toBe(2);
    expect(second.outcome).toMatchObject({ value: { held: true } });
  });

  it('is a second longer, at most, when nobody tells that the key is free', async () => {
    const { runtime, memory, locks } = manualLocks(silent);
    await memory.acquire('a', 'someone else', HOUR_MS);
    const waiting = watch(locks.acquire('a', { wait: '1h' }));
    await runtime.advance(600_000);
    await memory.release('a', 'someone else');
    await runtime.advance(1000);
    expect(waiting.outcome).toMatchObject({ value: { held: true } });
  });

  it('never sleeps past the end of the lease of who holds the key', async () => {
    for (const leaseMs of [40, 300, 20_000, 20_300, 20_700]) {
      const { runtime, memory, locks } = manualLocks(silent);
      await memory.acquire('a', 'someone else', leaseMs);
      const waiting = watch(locks.acquire('a', { wait: '1m', autoRenew: false }));
      await runtime.advance(leaseMs + 5);
      expect(waiting.outcome).toMatchObject({ value: { held: true } });
    }
  });

  it('is no hot loop when the lease of who holds the key is always nearly over', async () => {
    const { runtime, store, locks } = manualLocks((memory) =>
      altered(memory, { acquire: async () => ({ acquired: false, retryAfterMs: 0.001 }) }),
    );
    const waiting = watch(locks.acquire('a', { wait: '1s' }));
    await runtime.advance(1000);
    expect(waiting.outcome).toMatchObject({ error: { code: 'LOCK_BUSY' } });
    expect(store.calls.acquire).toBeLessThanOrEqual(201);
  });

  it('is no hot loop for several keys, whose attempts free again what they got', async () => {
    const { runtime, memory, store, locks } = manualLocks();
    await memory.acquire('b', 'someone else', HOUR_MS);
    const waiting = watch(locks.acquire(['a', 'b'], { wait: '30s' }));
    await runtime.advance(20_000);
    expect(store.calls.acquire).toBeLessThan(150);
    await memory.release('b', 'someone else');
    await runtime.advance(0);
    expect(waiting.outcome).toMatchObject({ value: { keys: ['a', 'b'], held: true } });
  });

  it('goes on through an outage, and says so when that lasts', async () => {
    const short = manualLocks();
    short.store.fail('acquire', 'reject', 3);
    const shortly = watch(short.locks.acquire('a', { wait: '10s' }));
    await short.runtime.advance(5000);
    expect(shortly.outcome).toMatchObject({ value: { held: true } });

    const long = manualLocks();
    long.store.fail('acquire', 'reject');
    const waiting = watch(long.locks.tryAcquire('a', { wait: '10s' }));
    await long.runtime.advance(10_000);
    expect(waiting.outcome).toMatchObject({ error: expect.any(LockUnavailableError) });
    expect(long.store.calls.acquire).toBeLessThan(100);
    expect(long.runtime.pendingTimers).toBe(0);
  });

  it('for one key is not held up by another', async () => {
    const { runtime, memory, locks } = manualLocks();
    await memory.acquire('a', 'someone else', HOUR_MS);
    const waiting = watch(locks.acquire('a', { wait: '1m' }));
    const other = watch(locks.acquire('b', { wait: '1m' }));
    await runtime.advance(0);
    expect(other.outcome).toMatchObject({ value: { held: true } });
    expect(waiting.outcome).toBe('pending');
  });
});

describe('in line at a store that keeps one', () => {
  /** Keeps everyone waiting, and says so; what it is asked is noted. */
  function lined() {
    const asked: { readonly owner: string; readonly place: Place }[] = [];
    const left: string[] = [];
    const listening = new Set<() => void>();
    const kept: (number | undefined)[] = [];
    const grants = new Map<string, number>();
    let answer: AcquireResult = { acquired: false, inLine: true };
    let delay = Promise.resolve();
    const { runtime, locks } = manualLocks((memory) =>
      altered(memory, {
        acquire: async (_key, owner, _ttlMs, place) => {
          asked.push({ owner, place: { ...place, wake: () => place!.wake!() } });
          await delay;
          return answer;
        },
        take: (_key, owner) => {
          const fencingToken = grants.get(owner);
          return fencingToken === undefined
            ? undefined
            : {
                fencingToken,
                sentAt: {
                  monotonic: runtime.clock.monotonic() - SENT_AGO_MS,
                  wall: runtime.clock.wall() - SENT_AGO_MS,
                },
                leaseMs: 1000,
              };
        },
        leave: (_key, owner) => void left.push(owner),
        onFree: (_key, wake) => {
          listening.add(wake);
          return () => void listening.delete(wake);
        },
        release: async (_key, _owner, keepForMs) => kept.push(keepForMs) > 0,
      }),
    );
    return {
      ...{ runtime, locks, asked, left, kept, grants, listening },
      say: (next: AcquireResult) => (answer = next),
      answerAfter: (event: Promise<void>) => {
        delay = event;
      },
    };
  }

  it('a waiter sleeps until it is told, looks now and then, and each look takes the place of the one before', async () => {
    const { runtime, locks, asked, grants } = lined();
    const waiting = watch(locks.acquire('a', { wait: '1h' }));
    await runtime.advance(20_000);
    expect(asked.length).toBeGreaterThan(20);
    expect(asked.length).toBeLessThan(60);
    asked.forEach(({ place }, index) => expect(place).toMatchObject({ stands: true, after: asked[index - 1]?.owner }));
    const last = asked.at(-1)!;
    grants.set(last.owner, 77);
    const looks = asked.length;
    last.place.wake!();
    await runtime.advance(0);
    expect(waiting.outcome).toMatchObject({ value: { held: true, fencingToken: 77 } });
    expect(asked).toHaveLength(looks);
  });

  it('a turn that is told before the attempt is answered is not missed', async () => {
    const { runtime, locks, asked, grants, answerAfter } = lined();
    let answered = (): void => undefined;
    answerAfter(new Promise((resolve) => (answered = resolve)));
    const waiting = watch(locks.acquire('a', { wait: '1h' }));
    await runtime.advance(0);
    grants.set(asked[0]!.owner, 5);
    asked[0]!.place.wake!();
    await runtime.advance(0);
    expect(waiting.outcome).toBe('pending');
    answered();
    await runtime.advance(0);
    expect(waiting.outcome).toMatchObject({ value: { fencingToken: 5 } });
  });

  it('who is told, and gets nothing for it, asks again in its place', async () => {
    const { runtime, locks, asked } = lined();
    watch(locks.acquire('a', { wait: '1h' }));
    await runtime.advance(0);
    asked[0]!.place.wake!();
    await runtime.advance(0);
    expect(asked).toHaveLength(2);
    expect(asked[1]!.place.after).toBe(asked[0]!.owner);
  });

  it('the place goes to the next of the process, and is given up by the last', async () => {
    const { runtime, locks, asked, left } = lined();
    const controllers = [new AbortController(), new AbortController()];
    for (const { signal } of controllers) watch(locks.acquire('a', { wait: '1h', signal }));
    await runtime.advance(0);
    expect(asked).toHaveLength(1);
    controllers[0]!.abort();
    await runtime.advance(0);
    expect(left).toEqual([]);
    expect(asked[1]!.place.after).toBe(asked[0]!.owner);
    controllers[1]!.abort();
    await runtime.advance(0);
    expect(left).toEqual([asked[1]!.owner]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('a turn that came when its waiter had just left is that of the next in the process, for no longer than they want', async () => {
    const { runtime, locks, asked, grants } = lined();
    const controller = new AbortController();
    watch(locks.acquire('a', { wait: '1h', signal: controller.signal }));
    const next = watch(locks.acquire('a', { wait: '1h', ttl: '500ms' }));
    await runtime.advance(0);
    controller.abort();
    grants.set(asked[0]!.owner, 5);
    await runtime.advance(0);
    expect(asked).toHaveLength(1);
    const { value: lock } = next.outcome as { value: Lock };
    expect(lock.fencingToken).toBe(5);
    expect(lock.remaining).toBeGreaterThan(0);
    expect(lock.remaining).toBeLessThanOrEqual(500 - SENT_AGO_MS);
  });

  it('the place is given up where the next one wants other keys as well, and stands in no line', async () => {
    const { runtime, locks, asked, left } = lined();
    const controller = new AbortController();
    watch(locks.acquire('a', { wait: '1h', signal: controller.signal }));
    watch(locks.acquire(['a', 'b'], { wait: '1h' }));
    await runtime.advance(0);
    controller.abort();
    await runtime.advance(0);
    expect(left).toEqual([asked[0]!.owner]);
    expect(asked[1]!.place).toMatchObject({ stands: false, after: undefined });
  });

  it('the place of an attempt that is still on its way when its waiter leaves is given up once it is answered', async () => {
    const { runtime, locks, asked, left, answerAfter } = lined();
    let answered = (): void => undefined;
    answerAfter(new Promise((resolve) => (answered = resolve)));
    const controller = new AbortController();
    watch(locks.acquire('a', { wait: '1h', signal: controller.signal }));
    await runtime.advance(0);
    controller.abort();
    await runtime.advance(0);
    expect(left).toEqual([]);
    answered();
    await runtime.advance(0);
    expect(left).toEqual([asked[0]!.owner]);
  });

  it('a place that an attempt without an answer may have left is taken by the next, which follows soon', async () => {
    const { runtime, locks, asked, answerAfter } = lined();
    answerAfter(Promise.reject(new Error('no answer')));
    watch(locks.acquire('a', { wait: '1h' }));
    await runtime.advance(50);
    expect(asked.length).toBeGreaterThan(1);
    expect(asked[1]!.place.after).toBe(asked[0]!.owner);
    answerAfter(Promise.resolve());
  });

  it('who is refused without a place waits for the key to come free, and tries again to stand in line', async () => {
    const { runtime, locks, asked, say } = lined();
    say({ acquired: false });
    watch(locks.acquire('a', { wait: '1h' }));
    await runtime.advance(1000);
    expect(asked.length).toBeGreaterThan(1);
    for (const { place } of asked) expect(place).toMatchObject({ stands: true, after: undefined });
  });

  it('what is held by a turn is held from then on, not from when its attempt was sent, for `maxHold` and `minHold`', async () => {
    const { runtime, locks, asked, grants, kept } = lined();
    const waiting = watch(locks.acquire('a', { wait: '1h', minHold: '400ms', maxHold: '500ms' }));
    await runtime.advance(0);
    grants.set(asked[0]!.owner, 5);
    asked[0]!.place.wake!();
    await runtime.advance(0);
    const { value: lock } = waiting.outcome as { value: Lock };
    expect(lock.remaining).toBe(500);
    await runtime.advance(10);
    expect(await lock.release()).toBe(true);
    expect(kept).toEqual([390]);
  });

  it('who can stand in line by now does so, and listens no more', async () => {
    const { runtime, locks, asked, say, listening } = lined();
    say({ acquired: false });
    watch(locks.acquire('a', { wait: '1h' }));
    await runtime.advance(0);
    expect(listening.size).toBe(1);
    say({ acquired: false, inLine: true });
    const before = asked.length;
    for (const wake of listening) wake();
    await runtime.advance(0);
    expect(asked).toHaveLength(before + 1);
    expect(listening.size).toBe(0);
  });

  it('nobody asks because this process gives the key back: they are told when it is their turn', async () => {
    const { runtime, locks, asked, say } = lined();
    say({ acquired: true, fencingToken: 1 });
    const held = await locks.acquire('a');
    say({ acquired: false, inLine: true });
    watch(locks.acquire('a', { wait: '1h' }));
    await runtime.advance(0);
    expect(asked).toHaveLength(2);
    await held.release();
    await runtime.advance(0);
    expect(asked).toHaveLength(2);
  });

  it('a turn is a lock for a short while at first: it is renewed once, also where nobody asked for renewal', async () => {
    const { runtime, locks, asked, grants } = lined();
    const waiting = watch(locks.acquire('a', { wait: '1h', ttl: '1m', autoRenew: false }));
    await runtime.advance(0);
    grants.set(asked[0]!.owner, 5);
    asked[0]!.place.wake!();
    await runtime.advance(0);
    const { value: lock } = waiting.outcome as { value: Lock };
    expect(lock.remaining).toBeLessThanOrEqual(1000);
    // The store behind it knows nothing of this lock, so it says that it is someone else's.
    await runtime.advance(500);
    expect(lock.loss).toMatchObject({ reason: 'taken' });
  });
});

describe('an abort', () => {
  it('ends the wait at once, with its reason, and leaves nothing behind', async () => {
    let subscriptions = 0;
    const { runtime, memory, store, locks } = manualLocks((inner) =>
      altered(inner, {
        onFree: (key, wake) => {
          subscriptions++;
          const stop = inner.onFree(key, wake);
          return () => {
            subscriptions--;
            stop();
          };
        },
      }),
    );
    await memory.acquire('a', 'someone else', HOUR_MS);
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = watch(locks.acquire('a', { wait: '1m', signal }));
    await runtime.advance(5000);
    expect([subscriptions, getEventListeners(signal, 'abort').length]).toEqual([1, 1]);
    const reason = new Error('the client has left');
    controller.abort(reason);
    await runtime.advance(0);
    expect(waiting.outcome).toEqual({ error: reason });
    expect([subscriptions, getEventListeners(signal, 'abort').length]).toEqual([0, 0]);
    expect(runtime.pendingTimers).toBe(0);
    const { acquire } = store.calls;
    await runtime.advance(60_000);
    expect(store.calls.acquire).toBe(acquire);
  });

  it('of one waiter leaves the others where they are, and lets the next one in', async () => {
    const { runtime, memory, locks } = manualLocks();
    await memory.acquire('a', 'someone else', HOUR_MS);
    const controllers = [new AbortController(), new AbortController()];
    const [first, second] = controllers.map(({ signal }) => watch(locks.acquire('a', { wait: '1m', signal })));
    const third = watch(locks.acquire('a', { wait: '1m' }));
    await runtime.advance(5000);
    for (const controller of controllers) controller.abort();
    await runtime.advance(0);
    expect(first!.outcome).toMatchObject({ error: { name: 'AbortError' } });
    expect(second!.outcome).toMatchObject({ error: { name: 'AbortError' } });
    expect(third.outcome).toBe('pending');
    await memory.release('a', 'someone else');
    await runtime.advance(1000);
    expect(third.outcome).toMatchObject({ value: { held: true } });
  });

  it.each(['1m', 0])('returns a grant that is answered after it (wait: %p)', async (wait) => {
    const { runtime, memory, store, locks } = manualLocks();
    const controller = new AbortController();
    store.fail('acquire', 'late');
    const acquiring = watch(locks.acquire('a', { wait, signal: controller.signal }));
    await runtime.advance(100);
    expect((await memory.inspect('a')).locked).toBe(true);
    controller.abort();
    await runtime.advance(0);
    store.heal();
    await runtime.advance(0);
    expect(acquiring.outcome).toMatchObject({ error: { name: 'AbortError' } });
    expect((await memory.inspect('a')).locked).toBe(false);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('before the call keeps it from asking at all', async () => {
    const { store, locks } = manualLocks();
    await expect(locks.acquire('a', { wait: '1m', signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(store.calls.acquire).toBe(0);
  });

  it('after the grant changes nothing', async () => {
    const { runtime, locks } = manualLocks();
    const controller = new AbortController();
    const lock = await locks.acquire('a', { wait: '1m', signal: controller.signal });
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    controller.abort();
    await runtime.advance(60_000);
    expect(lock.held).toBe(true);
  });
});
