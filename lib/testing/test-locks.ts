import { AssertionError } from 'node:assert';
import type { Duration } from '../duration.js';
import { LockManager } from '../lock-manager.js';
import type { Lock } from '../lock.js';
import { managerProperty } from '../nest/lock-tokens.js';
import type { Runtime } from '../runtime.js';
import type { LockStore } from '../stores/lock-store.js';
import { MemoryStore } from '../stores/memory.store.js';
import { LosingStore } from './losing.store.js';

/** Where the application under test runs, and who is not it. */
export interface TestLocksSetup {
  readonly locks: LockManager;
  readonly store: LockStore;
  readonly runtime: Runtime;
}

/** What a unit test does to locks, and asks about them: it is the other pod, the operator who deletes a key, and the one who looks. */
export class TestLocks {
  readonly #elsewhere: LockManager;

  constructor(private readonly setup: TestLocksSetup) {
    this.#elsewhere = new LockManager(setup.store, { name: 'elsewhere' }, setup.runtime);
  }

  /**
   * Another pod holds the key, until it releases it. Waits for nothing.
   * @throws LockBusyError when the application holds it.
   */
  holdElsewhere(key: string, { ttl = '1h' }: { readonly ttl?: Duration } = {}): Promise<Lock> {
    return this.#elsewhere.acquire(key, { ttl });
  }

  /**
   * The application loses the key, as by a frozen pod or a flushed Redis: the signal of its lock aborts at once, and the key is free.
   * @throws AssertionError when nobody holds it, or the store is not the module's own.
   */
  async loseLock(key: string): Promise<void> {
    const { store } = this.setup;
    if (!(store instanceof LosingStore)) throw failure('loseLock needs the store of the module: give forRoot() none.');
    if (!(await store.lose(key))) throw failure(`Lock ${JSON.stringify(key)} cannot be lost: nobody holds it.`);
  }

  /** @throws AssertionError when nobody holds the key at this moment. */
  async expectLocked(key: string): Promise<void> {
    if (await this.setup.locks.isLocked(key)) return;
    throw failure(`Lock ${JSON.stringify(key)} was expected to be held, but nobody holds it.`);
  }

  /** @throws AssertionError when anyone holds the key at this moment. */
  async expectFree(key: string): Promise<void> {
    if (!(await this.setup.locks.isLocked(key))) return;
    throw failure(`Lock ${JSON.stringify(key)} was expected to be free, but someone holds it.`);
  }

  /** The keys that the application took while `work` ran, in the order of their grants. */
  async takenDuring(work: () => unknown): Promise<string[]> {
    const taken: string[] = [];
    const stop = this.setup.locks.on('granted', ({ keys }) => taken.push(...keys));
    try {
      await work();
    } finally {
      stop();
    }
    return taken;
  }
}

/** Gives an instance that Nest did not make what its `@WithLock` methods need: `withLocks(new BillingService())`. */
export function withLocks<T extends object>(
  instance: T,
  locks = new LockManager(new MemoryStore()),
  manager?: string,
): T {
  return Object.assign(instance, { [managerProperty(manager)]: locks });
}

function failure(message: string): AssertionError {
  return new AssertionError({ message });
}
