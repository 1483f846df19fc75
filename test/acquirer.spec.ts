import { describe, expect, it } from '@jest/globals';
import { LockManager } from '../lib/lock-manager.js';
import type { LockStore } from '../lib/stores/lock-store.js';
import { MemoryStore } from '../lib/stores/memory.store.js';

/** Notes which acquisitions are asked for inside of `together`. */
class GatheringStore extends MemoryStore implements LockStore {
  readonly asked: string[] = [];
  #gathering = false;

  together<T>(ask: () => T): T {
    this.#gathering = true;
    try {
      return ask();
    } finally {
      this.#gathering = false;
    }
  }

  override acquire(...args: Parameters<MemoryStore['acquire']>): ReturnType<MemoryStore['acquire']> {
    this.asked.push(`${args[0]} ${this.#gathering ? 'together' : 'alone'}`);
    return super.acquire(...args);
  }
}

describe('An attempt', () => {
  it('has an owner that begins with its process, which ends in as many random digits as no two processes ever share', async () => {
    const owners: string[] = [];
    const store = new MemoryStore();
    const { acquire } = store;
    store.acquire = async (...args) => {
      owners.push(args[1]);
      return acquire.apply(store, args);
    };
    for (const locks of [new LockManager(store), new LockManager(store)]) {
      for (const key of ['a', 'b']) await (await locks.acquire(key)).release();
    }
    const processes = owners.map((owner) => owner.slice(0, owner.indexOf('/')));
    for (const process of processes) expect(process).toMatch(/-[0-9a-f]{12}$/);
    expect([new Set(owners).size, new Set(processes).size]).toEqual([4, 2]);
  });

  it('asks for several keys together where the store can, and for one key alone', async () => {
    const store = new GatheringStore();
    const locks = new LockManager(store);
    await (await locks.acquire(['b', 'a'])).release();
    await (await locks.acquire('c')).release();
    expect(store.asked).toEqual(['a together', 'b together', 'c alone']);
  });
});
