import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Lock } from '../lib/lock.js';
import { LockManager } from '../lib/lock-manager.js';
import type { Lease } from '../lib/stores/lock-store.js';
import { MemoryStore } from '../lib/stores/memory.store.js';
import { ManualRuntime } from '../lib/testing/manual-runtime.js';
import { altered, watch } from './support/manual-locks.js';

const TTL_MS = 30_000;
const INTERVAL_MS = 10_000;

interface Question {
  readonly leases: readonly Lease[];
  readonly ttlMs: number;
}

let runtime: ManualRuntime;
let locks: LockManager;
/** What was asked for all at once, and by itself. */
let together: Question[];
let alone: string[];
let warnings: string[];

beforeEach(() => {
  runtime = new ManualRuntime();
  together = [];
  alone = [];
  warnings = [];
  const memory = new MemoryStore(runtime);
  const store = altered(memory, {
    renewAll: (leases, ttlMs) => void together.push({ leases, ttlMs }),
    renew: (key, owner, ttlMs) => {
      alone.push(key);
      return memory.renew(key, owner, ttlMs);
    },
  });
  locks = new LockManager(store, { log: { warn: (message) => warnings.push(message) } }, runtime);
});

async function take(count: number, ttlMs = TTL_MS): Promise<Lock[]> {
  const keys = Array.from({ length: count }, (_, index) => `${ttlMs}:${index}`);
  return Promise.all(keys.map((key) => locks.acquire(key, { ttl: `${ttlMs}ms` })));
}

describe('StoreLink', () => {
  it('asks once for all locks of a ttl that are due, where the store can answer that', async () => {
    const some = await take(3);
    const others = await take(2, TTL_MS + 1);
    await runtime.advance(INTERVAL_MS);
    const asked = new Map(together.map(({ leases, ttlMs }) => [ttlMs, leases.map(({ key }) => key).sort()]));
    expect(asked).toEqual(
      new Map([
        [TTL_MS, some.map(({ key }) => key)],
        [TTL_MS + 1, others.map(({ key }) => key)],
      ]),
    );
    expect(together.length).toBe(2);
    expect(alone).toEqual([]);
  });

  it('takes each answer for the lock that it is given to', async () => {
    const [kept, lost, unsure] = (await take(3)) as [Lock, Lock, Lock];
    await runtime.advance(INTERVAL_MS);
    const leaseOf = (lock: Lock): Lease => together[0]!.leases.find(({ key }) => key === lock.key)!;
    leaseOf(kept).renewed(true);
    leaseOf(lost).renewed(false);
    leaseOf(unsure).unclear(new Error('out of reach'));
    expect([kept.held, lost.held, unsure.held]).toEqual([true, false, true]);
    expect(lost.loss).toMatchObject({ reason: 'taken' });
    expect(kept.remaining).toBeGreaterThan(unsure.remaining);
    expect(warnings).toEqual([lost.loss!.message, expect.stringContaining('out of reach')]);
    // Soon, and by itself, since nothing else is due.
    await runtime.advance(INTERVAL_MS / 3);
    expect(alone).toEqual([unsure.key]);
    expect(unsure.remaining).toBeGreaterThan(kept.remaining);
  });

  it('counts how often a lock was renewed, and shows when it is over', async () => {
    const [lock] = (await take(2)) as [Lock];
    await runtime.advance(INTERVAL_MS);
    const lease = together[0]!.leases.find(({ key }) => key === lock.key)!;
    expect([lease.renewals, lease.over]).toEqual([0, false]);
    lease.renewed(true);
    expect([lease.renewals, lease.over]).toEqual([1, false]);
    await lock.release();
    expect(lease.over).toBe(true);
  });

  it('joins a renewal by hand to one that is under way for many', async () => {
    const [lock] = (await take(2)) as [Lock];
    await runtime.advance(INTERVAL_MS);
    const renewing = watch(lock.renew());
    await runtime.advance(0);
    expect(renewing.outcome).toBe('pending');
    together[0]!.leases.find(({ key }) => key === lock.key)!.renewed(true);
    await runtime.advance(0);
    expect(renewing.outcome).toEqual({ value: undefined });
    expect(alone).toEqual([]);
  });

  it('asks by itself for a lone lock, for one over several keys, and by hand', async () => {
    const several = await locks.acquire(['x', 'y']);
    await runtime.advance(INTERVAL_MS);
    expect(alone).toEqual(['x', 'y']);
    await several.release();
    const [lone] = (await take(1)) as [Lock];
    await runtime.advance(INTERVAL_MS);
    await lone.renew();
    expect(alone).toEqual(['x', 'y', lone.key, lone.key]);
    expect(together).toEqual([]);
  });
});
