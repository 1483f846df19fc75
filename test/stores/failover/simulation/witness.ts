import { Deadline, now, validity } from '../../../../lib/deadline.js';
import type { LockStore } from '../../../../lib/stores/lock-store.js';
import type { Lease } from '../../../simulation/grant-log.js';
import type { SimProcess } from '../../../simulation/sim-process.js';

/** For how long one owner may believe that it has a key: as the holder itself counts, but seen from outside. */
class Belief implements Lease {
  over = false;
  readonly keys: readonly string[];

  constructor(
    key: string,
    readonly owner: string,
    public deadline: Deadline,
    private readonly process: SimProcess,
  ) {
    this.keys = [key];
  }

  /** A process that stands still believes on; one that was killed does not. */
  get valid(): boolean {
    return !this.over && this.process.alive && this.deadline.remaining > 0;
  }
}

/** Stands between a manager and its store, and keeps a record of who may believe to hold what. */
export class Witness implements LockStore {
  readonly #beliefs = new Map<string, Belief>();
  readonly raise: NonNullable<LockStore['raise']>;

  constructor(
    private readonly store: Required<Pick<LockStore, 'raise' | 'onLoss'>> & LockStore,
    private readonly process: SimProcess,
    private readonly believed: (belief: Lease) => void,
  ) {
    this.raise = (key, owner, token) => store.raise(key, owner, token);
  }

  async acquire(key: string, owner: string, ttlMs: number) {
    const deadline = this.#deadline(ttlMs);
    const result = await this.store.acquire(key, owner, ttlMs);
    if (result.acquired) {
      const belief = new Belief(key, owner, deadline, this.process);
      this.#beliefs.set(owner + key, belief);
      this.believed(belief);
    }
    return result;
  }

  async renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    const belief = this.#beliefs.get(owner + key);
    const deadline = this.#deadline(ttlMs);
    const ours = await this.store.renew(key, owner, ttlMs);
    // What had ended before the answer came has ended.
    if (belief?.valid) {
      if (ours) belief.deadline = deadline;
      else this.#lost(owner);
    }
    return ours;
  }

  release(key: string, owner: string, keepForMs?: number): Promise<boolean> {
    const belief = this.#beliefs.get(owner + key);
    if (belief) belief.over = true;
    return this.store.release(key, owner, keepForMs);
  }

  onLoss(key: string, owner: string, lost: () => void): () => void {
    return this.store.onLoss(key, owner, () => {
      this.#lost(owner);
      lost();
    });
  }

  /** A lock over several keys is lost with the first of them. */
  #lost(owner: string): void {
    for (const belief of this.#beliefs.values()) if (belief.owner === owner) belief.over = true;
  }

  #deadline(ttlMs: number): Deadline {
    return new Deadline(this.process.clock, now(this.process.clock), validity(ttlMs));
  }
}
