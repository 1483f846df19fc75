import type { AcquireResult, LockState, LockStore } from 'nestjs-fenced-lock';

/**
 * One pod's connection to a shared store, which can be frozen: calls then neither succeed nor fail until it is thawed. It has no
 * `close`, so that a pod that closes leaves the store to the others.
 */
export class FreezableStore implements LockStore {
  private thawed: Promise<void> = Promise.resolve();
  private letGo: () => void = () => undefined;

  constructor(private readonly store: LockStore) {}

  freeze(): void {
    this.thawed = new Promise((resolve) => (this.letGo = resolve));
  }

  thaw(): void {
    this.letGo();
  }

  async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
    await this.thawed;
    return this.store.acquire(key, owner, ttlMs);
  }

  async renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    await this.thawed;
    return this.store.renew(key, owner, ttlMs);
  }

  async release(key: string, owner: string, keepForMs?: number): Promise<boolean> {
    await this.thawed;
    return this.store.release(key, owner, keepForMs);
  }

  async raise(key: string, owner: string, fencingToken: number): Promise<boolean> {
    await this.thawed;
    return (await this.store.raise?.(key, owner, fencingToken)) ?? true;
  }

  async inspect(key: string): Promise<LockState> {
    await this.thawed;
    return (await this.store.inspect?.(key)) ?? { locked: false };
  }
}
