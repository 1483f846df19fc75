import type { HeldLock, LockLink } from './held-lock.js';
import { together } from './stores/joint-answer.js';
import type { LockStore } from './stores/lock-store.js';
import { settle } from './stores/settle.js';

/** How locks reach the store that has them. */
export class StoreLink implements LockLink {
  readonly onLoss: LockLink['onLoss'];
  /** What is to be renewed together, by ttl. */
  #gathered: Map<number, HeldLock[]> | undefined;

  constructor(private readonly store: LockStore) {
    if (store.onLoss) this.onLoss = (lock, lost) => this.#listen(lock, lost);
  }

  /** Runs `ask`, and sends as one what it asks of the store, where that can be. */
  together(ask: () => void): void {
    if (this.store.together) this.store.together(() => this.#gather(ask));
    else this.#gather(ask);
  }

  renew(lock: HeldLock): void {
    const { keys, ttlMs } = lock;
    if (!this.#gathered || !this.store.renewAll || keys.length > 1) return this.#renewAlone(lock);
    const alike = this.#gathered.get(ttlMs);
    if (alike) alike.push(lock);
    else this.#gathered.set(ttlMs, [lock]);
  }

  release({ keys, owner }: HeldLock, keepForMs: number): Promise<boolean> {
    const keep = keepForMs > 0 ? Math.ceil(keepForMs) : undefined;
    return ask(keys, (key) => this.store.release(key, owner, keep));
  }

  #gather(ask: () => void): void {
    const gathered = (this.#gathered = new Map<number, HeldLock[]>());
    try {
      ask();
    } finally {
      this.#gathered = undefined;
      for (const [ttlMs, locks] of gathered) {
        if (locks.length === 1) this.#renewAlone(locks[0]!);
        else this.store.renewAll!(locks, ttlMs);
      }
    }
  }

  #renewAlone(lock: HeldLock): void {
    const { keys, owner, ttlMs } = lock;
    settle(
      lock,
      ask(keys, (key) => this.store.renew(key, owner, ttlMs)),
    );
  }

  #listen({ keys, owner }: HeldLock, lost: () => void): () => void {
    const stops = keys.map((key) => this.store.onLoss?.(key, owner, lost));
    return () => stops.forEach((stop) => stop?.());
  }
}

/** True: on every key. */
function ask(keys: HeldLock['keys'], one: (key: string) => Promise<boolean>): Promise<boolean> {
  try {
    return keys.length === 1 ? one(keys[0]) : together(keys.map(one));
  } catch (error) {
    // A store that throws where it should reject is told of like any other.
    return Promise.reject(error as Error);
  }
}
