/** One process of a history: takes keys, renews and gives them back, and tells its parent of each call before it is made and after its answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LockBusyError, LockLostError } from '../../lib/errors.js';
import { LockManager } from '../../lib/lock-manager.js';
import type { Lock } from '../../lib/lock.js';
import type { LockStore } from '../../lib/stores/lock-store.js';
import { MemoryStore } from '../../lib/stores/memory.store.js';
import { connectPostgres } from '../../lib/stores/postgres/index.js';
import { connectRedis } from '../../lib/stores/redis/redis.store.js';
import { Prng } from '../simulation/prng.js';
import type { Operation } from './operation.js';

export interface WorkerTerms {
  readonly name: string;
  /** Where it locks. `apart`: each process on its own, as a control that must be found out. */
  readonly nodes?: readonly string[];
  readonly postgres?: string;
  readonly apart?: true;
  readonly keys: readonly string[];
  readonly ttlMs: number;
  readonly seed: number;
}

type Answer = Pick<Operation, 'outcome' | 'token'>;
export type Message =
  | { readonly ready: true }
  | { readonly done: true }
  | { readonly id: number; readonly call: Omit<Operation, 'answeredAt' | 'outcome'> }
  | { readonly id: number; readonly answer: Answer & Pick<Operation, 'answeredAt'> };

const terms = JSON.parse(process.env.TERMS!) as WorkerTerms;
const { name, keys, ttlMs } = terms;
const random = new Prng(terms.seed);
const locks = new LockManager(await open());
let stopped = false;
let calls = 0;
let attempts = 0;
process.once('message', () => (stopped = true));
process.send!({ ready: true });
// Two at once, so that calls of one process overlap as well.
await Promise.all([work(), work()]);
await locks.shutdown(1000);
process.send!({ done: true }, () => process.disconnect());

async function open(): Promise<LockStore> {
  if (terms.nodes) return connectRedis({ nodes: terms.nodes, ttlMs, nodeTimeout: ttlMs / 3000 });
  if (terms.postgres) return connectPostgres({ connection: terms.postgres, heartbeat: '1s', timeout: '1s' });
  return new MemoryStore();
}

async function work(): Promise<void> {
  while (!stopped) {
    await turn(random.pick(keys), `${name}/${++attempts}`);
    await sleep(random.between(0, 15));
  }
}

async function turn(key: string, attempt: string): Promise<void> {
  const lock = await acquire(key, attempt);
  if (!lock) return;
  await sleep(random.between(0, 20));
  for (let renewals = random.pick([0, 0, 0, 1, 2, 5]); renewals > 0; renewals--) {
    await renew(lock, attempt);
    await sleep(random.between(0, ttlMs / 3));
  }
  // At times it asks for what is long over, or leaves the key to its ttl.
  if (random.chance(0.05)) {
    await sleep(ttlMs * 1.2);
    await renew(lock, attempt);
  }
  if (random.chance(0.95)) await release(lock, attempt);
}

async function acquire(key: string, attempt: string): Promise<Lock | undefined> {
  const wait = random.chance(0.5) ? random.between(1, ttlMs) / 1000 : 0;
  let lock: Lock | undefined;
  await told({ key, attempt, what: 'acquire' }, async () => {
    try {
      lock = await locks.acquire(key, { ttl: ttlMs / 1000, autoRenew: false, wait });
      return { outcome: 'ok', token: lock.fencingToken };
    } catch (error) {
      return { outcome: error instanceof LockBusyError ? 'no' : 'unknown' };
    }
  });
  return lock;
}

async function renew(lock: Lock, attempt: string): Promise<void> {
  await told({ key: lock.key, attempt, what: 'renew' }, async () => {
    try {
      await lock.renew();
      return { outcome: 'ok' };
    } catch (error) {
      return { outcome: error instanceof LockLostError ? 'no' : 'unknown' };
    }
  });
}

async function release(lock: Lock, attempt: string): Promise<void> {
  await told({ key: lock.key, attempt, what: 'release' }, async () => {
    if (await lock.release()) return { outcome: 'ok' };
    return { outcome: lock.loss ? 'no' : 'unknown' };
  });
}

async function told(what: Pick<Operation, 'key' | 'attempt' | 'what'>, make: () => Promise<Answer>): Promise<void> {
  const id = ++calls;
  process.send!({ id, call: { ...what, process: name, ttlMs, invokedAt: nowMs() } });
  const answer = await make();
  process.send!({ id, answer: { ...answer, answeredAt: nowMs() } });
}

function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
