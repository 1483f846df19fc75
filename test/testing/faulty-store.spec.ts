import { describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../lib/stores/memory.store.js';
import { FaultyStore, ManualRuntime } from '../../lib/testing/index.js';
import { altered, watch } from '../support/manual-locks.js';

function setUp() {
  const runtime = new ManualRuntime();
  const inner = new MemoryStore(runtime);
  return { runtime, inner, store: new FaultyStore(inner) };
}

describe('FaultyStore', () => {
  it('is the store it wraps while nothing is wrong, and counts', async () => {
    const { inner, store } = setUp();
    expect((await store.acquire('a', 'me', 1000)).acquired).toBe(true);
    expect(await store.renew('a', 'me', 1000)).toBe(true);
    const { fencingToken = 0 } = await inner.inspect('a');
    expect(await store.raise!('a', 'me', fencingToken)).toBe(true);
    expect((await store.inspect!('a')).owner).toBe('me');
    expect(await store.release('a', 'me', 500)).toBe(true);
    expect((await inner.inspect('a')).locked).toBe(true);
    expect((await store.list!({ prefix: '', limit: 1 })).keys).toMatchObject([{ key: 'a', locked: true }]);
    expect(await store.forceRelease!('a')).toBe(true);
    expect((await inner.inspect('a')).locked).toBe(false);
    const looks = { inspect: 1, list: 1, forceRelease: 1 };
    expect(store.calls).toEqual({ acquire: 1, renew: 1, release: 1, raise: 1, ...looks });
  });

  it('passes wake-ups on', async () => {
    const { inner, store } = setUp();
    let woken = 0;
    const unsubscribe = store.onFree!('a', () => woken++);
    await inner.acquire('a', 'me', 1000);
    await inner.release('a', 'me');
    unsubscribe();
    await inner.acquire('a', 'me', 1000);
    await inner.release('a', 'me');
    expect(woken).toBe(1);
  });

  it('has no verb that the store it wraps does not have', () => {
    const { inner, store } = setUp();
    expect(store.close).toBeUndefined();
    expect(new FaultyStore(altered(inner, { raise: undefined })).raise).toBeUndefined();
    expect(new FaultyStore(altered(inner, { inspect: undefined })).inspect).toBeUndefined();
    expect(new FaultyStore(altered(inner, { onFree: undefined })).onFree).toBeUndefined();
    expect(new FaultyStore(altered(inner, { list: undefined })).list).toBeUndefined();
    expect(new FaultyStore(altered(inner, { forceRelease: undefined })).forceRelease).toBeUndefined();
  });

  it('rejects without asking the store', async () => {
    const { inner, store } = setUp();
    store.fail('acquire', 'reject');
    await expect(store.acquire('a', 'me', 1000)).rejects.toThrow('acquire did not reach the store');
    expect((await inner.inspect('a')).locked).toBe(false);
    expect(store.calls.acquire).toBe(1);
  });

  it('loses the answer to what was carried out', async () => {
    const { inner, store } = setUp();
    store.fail('acquire', 'lost');
    await expect(store.acquire('a', 'me', 1000)).rejects.toThrow('the answer of acquire was lost');
    expect((await inner.inspect('a')).owner).toBe('me');
  });

  it('holds a call back until it is healed', async () => {
    const { runtime, inner, store } = setUp();
    store.fail('acquire', 'hang');
    const asked = watch(store.acquire('a', 'me', 1000));
    await runtime.advance(10);
    expect(asked.outcome).toBe('pending');
    expect((await inner.inspect('a')).locked).toBe(false);
    store.heal('acquire');
    await runtime.advance(0);
    expect(asked.outcome).toMatchObject({ value: { acquired: true } });
  });

  it('carries a call out at once and holds its answer back until it is healed', async () => {
    const { runtime, inner, store } = setUp();
    store.fail('acquire', 'late');
    const asked = watch(store.acquire('a', 'me', 1000));
    await runtime.advance(10);
    expect(asked.outcome).toBe('pending');
    expect((await inner.inspect('a')).owner).toBe('me');
    store.heal();
    await runtime.advance(0);
    expect(asked.outcome).toMatchObject({ value: { acquired: true } });
  });

  it('disturbs as many calls as ordered, one order after the other, and no other verb', async () => {
    const { store } = setUp();
    store.fail('renew', 'reject', 2);
    store.fail('renew', 'lost', 1);
    await store.acquire('a', 'me', 1000);
    await expect(store.renew('a', 'me', 1000)).rejects.toThrow('did not reach');
    await expect(store.renew('a', 'me', 1000)).rejects.toThrow('did not reach');
    await expect(store.renew('a', 'me', 1000)).rejects.toThrow('was lost');
    expect(await store.renew('a', 'me', 1000)).toBe(true);
  });

  it('is well again after it was healed', async () => {
    const { store } = setUp();
    store.fail('acquire', 'reject');
    store.fail('release', 'reject');
    store.heal('acquire');
    await store.acquire('a', 'me', 1000);
    await expect(store.release('a', 'me')).rejects.toThrow('injected fault');
    store.heal();
    expect(await store.release('a', 'me')).toBe(true);
  });
});
