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
  it('asks for several keys together where the store can, and for one key alone', async () => {
    const store = new GatheringStore();
    const locks = new LockManager(store);
    await (await locks.acquire(['b', 'a'])).release();
    await (await locks.acquire('c')).release();
    expect(store.asked).toEqual(['a together', 'b together', 'c alone']);
  });
});
