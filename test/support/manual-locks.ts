import { LockManager } from '../../lib/lock-manager.js';
import type { LockStore } from '../../lib/stores/lock-store.js';
import { MemoryStore } from '../../lib/stores/memory.store.js';
import { FaultyStore } from '../../lib/testing/faulty-store.js';
import { ManualRuntime } from '../../lib/testing/manual-runtime.js';

/** A manager on a clock and a store that do what the test says. `memory` is the store as it really is, for playing another pod. */
export function manualLocks(wrap: (memory: MemoryStore) => LockStore = (memory) => memory) {
  const runtime = new ManualRuntime();
  const memory = new MemoryStore(runtime);
  const store = new FaultyStore(wrap(memory));
  const warnings: string[] = [];
  const locks = new LockManager(store, { log: { warn: (message) => warnings.push(message) } }, runtime);
  return { runtime, memory, store, locks, warnings };
}

/** The store, with some verbs replaced, or taken away where it need not have them. */
export function altered(
  store: LockStore,
  changes: { [Verb in keyof LockStore]?: LockStore[Verb] | undefined },
): LockStore {
  return new Proxy(store, {
    get: (target, name) => {
      if (name in changes) return changes[name as keyof LockStore];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

export type Outcome<T> = 'pending' | { readonly value: T } | { readonly error: unknown };

/** What became of a promise so far. Looking does not wait, and a rejection counts as seen. */
export function watch<T>(promise: Promise<T>): { readonly outcome: Outcome<T> } {
  const watched: { outcome: Outcome<T> } = { outcome: 'pending' };
  promise.then(
    (value) => (watched.outcome = { value }),
    (error: unknown) => (watched.outcome = { error }),
  );
  return watched;
}

/** Someone deletes the key under its holder. */
export async function steal(memory: MemoryStore, key: string): Promise<void> {
  const { owner } = await memory.inspect(key);
  await memory.release(key, owner!);
}
