/** One process of the soak: takes keys, raises their counters under the lock, and tells its parent of each hold, until told to stop. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { LockBusyError, LockUnavailableError, StaleTokenError } from '../../lib/errors.js';
import { fencedGet, fencedSet } from '../../lib/fencing/fenced-set.js';
import { LockManager } from '../../lib/lock-manager.js';
import type { Lock } from '../../lib/lock.js';
import { Prng } from '../simulation/prng.js';
import type { Hold } from './audit.js';
import { Census } from './census.js';
import { openStore, type StoreTerms } from './open-store.js';

export interface ContenderTerms {
  readonly store: StoreTerms;
  /** How many managers contend in this process. */
  readonly loops: number;
  /** A Redis that no fault befalls: it keeps the counters. */
  readonly ledger: string;
  readonly keys: readonly string[];
  readonly ttlMs: number;
  readonly sampleMs: number;
  readonly seed: number;
}

const { store: place, loops, ledger, keys, ttlMs, sampleMs, seed } = JSON.parse(process.env.TERMS!) as ContenderTerms;
const census = new Census();
const counters = new Redis(ledger);
const store = await openStore(place, ttlMs);
const managers = Array.from({ length: loops }, () => {
  return new LockManager(store, { defaults: { ttl: ttlMs / 1000, wait: ttlMs / 1000 } });
});
let stopped = false;
process.once('message', () => (stopped = true));
// More and more listeners make Node warn.
process.on('warning', (warning) => process.send!({ warning: String(warning) }));
process.send!({ ready: true });

const sampling = setInterval(() => process.send!({ sample: census.take() }), sampleMs);
await Promise.all(managers.map((locks, index) => contend(locks, new Prng(seed + 1000 * index))));
clearInterval(sampling);
await Promise.all(managers.map((locks) => locks.shutdown(2000)));
counters.disconnect();
process.send!({ done: true }, () => process.disconnect());

async function contend(locks: LockManager, random: Prng): Promise<void> {
  while (!stopped) {
    const hold = await attempt(locks, random);
    if (hold) process.send!({ hold });
    await sleep(random.between(0, 10));
  }
}

/** Undefined where the lock was not had; anything but a lock's own refusal ends the soak. */
async function attempt(locks: LockManager, random: Prng): Promise<Hold | undefined> {
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
  const counted = await work(lock, random);
  let heldUntil = nowMs();
  if (!lock.held) heldUntil = grantedAt;
  await lock.release();
  return { keys: lock.keys, token: lock.fencingToken, startedAt, grantedAt, heldUntil, counted };
}

/** Claims and reads each counter, and after a while writes it back, one higher: two at a time would lose an update, unless the later one's claim stops the earlier. */
async function work(lock: Lock, random: Prng): Promise<string[]> {
  const { fencingToken: token } = lock;
  const counted: string[] = [];
  try {
    const before = await Promise.all(lock.keys.map((key) => fencedGet(counters, key, { token })));
    // Mostly short; at times longer than the ttl, so that renewals carry the lock through faults.
    await sleep(random.chance(0.1) ? random.between(0, 2 * ttlMs) : random.between(0, 30));
    if (!lock.held) return [];
    for (const [index, key] of lock.keys.entries()) {
      await fencedSet(counters, key, { value: String(Number(before[index] ?? 0) + 1), token });
      counted.push(key);
    }
  } catch (error) {
    if (!(error instanceof StaleTokenError)) throw error;
  }
  return counted;
}

function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
