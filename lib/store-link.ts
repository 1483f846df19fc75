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
    const { store, owner, ttlMs } = this;
    return this.#ask((key) => store.renew(key, owner, ttlMs));
  }

  release(keepForMs: number): Promise<boolean> {
    const { store, owner } = this;
    const keep = keepForMs > 0 ? Math.ceil(keepForMs) : undefined;
    return this.#ask((key) => store.release(key, owner, keep));
  }

  #ask(ask: (key: string) => Promise<boolean>): Promise<boolean> {
    try {
      return this.keys.length === 1 ? ask(this.keys[0]) : together(this.keys.map(ask));
    } catch (error) {
      // A store that throws where it should reject is told of like any other.
      return Promise.reject(error as Error);
    }
  }

  #listen(lost: () => void): () => void {
    const stops = this.keys.map((key) => this.store.onLoss?.(key, this.owner, lost));
    return () => stops.forEach((stop) => stop?.());
  }
}
