/** One process of the soak: takes keys, raises their counters under the lock, and tells its parent of each hold, until told to stop. */
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockBusyError, LockUnavailableError } from '../../lib/errors.js';
import { LockManager } from '../../lib/lock-manager.js';
import type { Lock } from '../../lib/lock.js';
import { connectRedis } from '../../lib/stores/redis/redis.store.js';
import { Prng } from '../simulation/prng.js';
import type { Hold } from './audit.js';

export interface ContenderTerms {
  readonly nodes: readonly string[];
  /** A Redis that no fault befalls: it keeps the counters. */
  readonly ledger: string;
  readonly keys: readonly string[];
  readonly ttlMs: number;
  readonly seed: number;
}

const { nodes, ledger, keys, ttlMs, seed } = JSON.parse(process.env.TERMS!) as ContenderTerms;
const random = new Prng(seed);
const counters = new Redis(ledger);
const locks = new LockManager(await connectRedis({ nodes, ttlMs, nodeTimeout: ttlMs / 3000 }), {
  defaults: { ttl: ttlMs / 1000, wait: ttlMs / 1000 },
});
let stopped = false;
process.once('message', () => (stopped = true));
process.send!({ ready: true });

while (!stopped) {
  const hold = await attempt();
  if (hold) process.send!({ hold });
  await sleep(random.between(0, 10));
}
await locks.shutdown(2000);
counters.disconnect();
process.send!({ done: true }, () => process.disconnect());

/** Undefined where the lock was not had; anything but a lock's own refusal ends the soak. */
async function attempt(): Promise<Hold | undefined> {
  const wanted = keys.filter(() => random.chance(0.4));
  if (wanted.length === 0) wanted.push(random.pick(keys));
  const startedAt = nowMs();
  let lock: Lock;
  try {
    lock = await locks.acquire(wanted);
  } catch (error) {
    if (error instanceof LockBusyError || error instanceof LockUnavailableError) return undefined;
    throw error;
  }
  const grantedAt = nowMs();
  const counted = await work(lock);
  let heldUntil = nowMs();
  if (!lock.held) heldUntil = grantedAt;
  await lock.release();
  return { keys: lock.keys, token: lock.fencingToken, startedAt, grantedAt, heldUntil, counted };
}

/** Reads each counter, and after a while writes it back, one higher: two at a time would lose an update. */
async function work(lock: Lock): Promise<string[]> {
  const before = await counters.mget(...lock.keys);
  // Mostly short; at times longer than the ttl, so that renewals carry the lock through faults.
  await sleep(random.chance(0.1) ? random.between(0, 2 * ttlMs) : random.between(0, 30));
  // No check can cover the way to the ledger, so it is entered with time to spare. A fencing token would do without; here the lock alone is tested.
  if (lock.remaining < ttlMs / 4) return [];
  await counters.mset(...lock.keys.flatMap((key, index) => [key, String(Number(before[index] ?? 0) + 1)]));
  return [...lock.keys];
}

function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
