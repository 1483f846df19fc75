import type { LockLink } from './held-lock.js';
import { together } from './stores/joint-answer.js';
import type { LockStore } from './stores/lock-store.js';

/** The keys and the owner of one lock, in the store that has them. */
export class StoreLink implements LockLink {
  readonly onLoss: LockLink['onLoss'];

  constructor(
    private readonly store: LockStore,
    private readonly keys: readonly [string, ...string[]],
    private readonly owner: string,
    private readonly ttlMs: number,
  ) {
    if (store.onLoss) this.onLoss = (lost) => this.#listen(lost);
  }

  renew(): Promise<boolean> {
    const { store, keys, owner, ttlMs } = this;
    if (keys.length === 1) return store.renew(keys[0], owner, ttlMs);
    return together(keys.map((key) => store.renew(key, owner, ttlMs)));
  }

  release(keepForMs: number): Promise<boolean> {
    const { store, keys, owner } = this;
    const keep = keepForMs > 0 ? Math.ceil(keepForMs) : undefined;
    if (keys.length === 1) return store.release(keys[0], owner, keep);
    return together(keys.map((key) => store.release(key, owner, keep)));
  }

  #listen(lost: () => void): () => void {
    const stops = this.keys.map((key) => this.store.onLoss?.(key, this.owner, lost));
    return () => stops.forEach((stop) => stop?.());
  }
}
