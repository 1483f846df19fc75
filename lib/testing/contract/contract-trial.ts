import { strict as assert, AssertionError } from 'node:assert';
import { randomUUID } from 'node:crypto';
import type { AcquireResult, LockStore, Place } from '../../stores/lock-store.js';

/** One sentence of the contract, and what proves it. */
export interface ContractCase {
  readonly name: string;
  readonly run: (trial: ContractTrial) => Promise<void>;
}

export interface Grant {
  readonly owner: string;
  readonly token: number;
}

/** Does not run out during a case. */
export const LONG_MS = 600_000;
/** Soon over; the longer ones are for machines too slow for the first. */
const SHORT_MS = [500, 3000, 9000];
const STEP_MS = 50;
const PATIENCE_MS = 60_000;

/** One run of a case: a store, keys and owners of its own, and the steps that cases share. */
export class ContractTrial {
  readonly key = freshName();

  constructor(
    readonly store: LockStore,
    readonly elapse: (ms: number) => Promise<unknown>,
  ) {}

  owner(): string {
    return freshName();
  }

  async granted(key = this.key, owner = this.owner(), ttlMs = LONG_MS): Promise<Grant> {
    const result = await this.store.acquire(key, owner, ttlMs);
    assert(result.acquired, `key ${JSON.stringify(key)} is free, but was refused`);
    return { owner, token: result.fencingToken };
  }

  async refused(key = this.key, owner = this.owner(), place?: Place): Promise<AcquireResult & { acquired: false }> {
    const result = await this.store.acquire(key, owner, LONG_MS, place);
    assert(!result.acquired, `key ${JSON.stringify(key)} is taken, but was granted once more`);
    return result;
  }

  async free(key = this.key): Promise<void> {
    const { owner } = await this.granted(key);
    assert.equal(await this.store.release(key, owner), true);
  }

  /** The next grant of a key that is to come free by itself. */
  async takenOver(key = this.key): Promise<Grant> {
    for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += STEP_MS) {
      const owner = this.owner();
      const result = await this.store.acquire(key, owner, LONG_MS);
      if (result.acquired) return { owner, token: result.fencingToken };
      await this.elapse(STEP_MS);
    }
    return assert.fail(`key ${JSON.stringify(key)} did not come free within ${PATIENCE_MS} ms`);
  }

  /**
   * Runs a step that needs a lease short enough to wait for. A step that finds the lease over too early returns false, or is rejected by the store, and is
   * tried again with a longer one; an assertion fails at once.
   */
  async withShortLease(claim: string, step: (leaseMs: number, key: string) => Promise<boolean>): Promise<void> {
    for (const leaseMs of SHORT_MS) {
      const done = await step(leaseMs, freshName()).catch((error: unknown) => {
        if (error instanceof AssertionError || leaseMs === SHORT_MS.at(-1)) throw error;
        return false;
      });
      if (done) return;
    }
    assert.fail(claim);
  }

  /** An owner whose lease of the key is over. */
  async expired(key = this.key): Promise<Grant> {
    for (const leaseMs of SHORT_MS) {
      const owner = this.owner();
      const result = await this.store.acquire(key, owner, leaseMs).catch(() => undefined);
      // The store may round, and its clock may be slower than ours.
      await this.elapse(leaseMs * 1.5);
      if (!result) continue;
      assert(result.acquired, `key ${JSON.stringify(key)} is free, but was refused`);
      return { owner, token: result.fencingToken };
    }
    return assert.fail('the store rejected every short lease');
  }
}

function freshName(): string {
  return `contract/${randomUUID()}`;
}
