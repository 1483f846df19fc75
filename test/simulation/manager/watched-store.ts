import { RedlockStore } from '../../../lib/stores/redis/redlock.store.js';

export interface StoreWatcher {
  /** A renewal of this key was answered with yes. */
  renewed(key: string): void;
  broken(what: string): void;
}

/** The real store, watched: who renews, and that nobody does after a release. */
export class WatchedStore extends RedlockStore {
  watcher: StoreWatcher | undefined;
  readonly #released = new Set<string>();

  override async renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    if (this.#released.has(`${key} ${owner}`)) this.watcher?.broken(`${owner} renews ${key} after its release`);
    const ours = await super.renew(key, owner, ttlMs);
    if (ours) this.watcher?.renewed(key);
    return ours;
  }

  override release(key: string, owner: string, keepForMs?: number): Promise<boolean> {
    this.#released.add(`${key} ${owner}`);
    return super.release(key, owner, keepForMs);
  }
}
