import type { Lease } from '../../../lib/stores/lock-store.js';
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
    this.#mayRenew(key, owner);
    const ours = await super.renew(key, owner, ttlMs);
    if (ours) this.watcher?.renewed(key);
    return ours;
  }

  override renewAll(leases: readonly Lease[], ttlMs: number): void {
    for (const { key, owner } of leases) this.#mayRenew(key, owner);
    super.renewAll(
      leases.map((lease) => this.#watched(lease)),
      ttlMs,
    );
  }

  override release(key: string, owner: string, keepForMs?: number): Promise<boolean> {
    this.#released.add(`${key} ${owner}`);
    return super.release(key, owner, keepForMs);
  }

  #mayRenew(key: string, owner: string): void {
    if (this.#released.has(`${key} ${owner}`)) this.watcher?.broken(`${owner} renews ${key} after its release`);
  }

  #watched(lease: Lease): Lease {
    const { key, owner, renewals } = lease;
    return {
      ...{ key, owner, renewals },
      get over() {
        return lease.over;
      },
      renewed: (ours) => {
        lease.renewed(ours);
        if (ours) this.watcher?.renewed(key);
      },
      unclear: (error) => lease.unclear(error),
    };
  }
}
