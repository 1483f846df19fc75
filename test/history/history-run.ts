import { setTimeout as sleep } from 'node:timers/promises';
import { validity } from '../../lib/deadline.js';
import { Prng } from '../simulation/prng.js';
import { ChildProcess } from '../support/child-process.js';
import { PostgresServer } from '../support/postgres-server.js';
import { startRedisNodes, stopAll, type RedisServer } from '../support/redis-server.js';
import { violations } from './fenced-mutex.js';
import type { Operation } from './operation.js';
import { Recorder } from './recorder.js';
import type { WorkerTerms } from './worker.js';

export const STORES = ['one Redis', 'three Redis nodes', 'Postgres'] as const;
export type StoreName = (typeof STORES)[number] | 'none';

export interface HistoryResult {
  readonly history: readonly Operation[];
  readonly violations: readonly string[];
  readonly faults: number;
}

interface Place {
  readonly terms: Pick<WorkerTerms, 'nodes' | 'postgres' | 'apart'>;
  readonly servers: readonly (RedisServer | PostgresServer)[];
  stop(): Promise<void>;
}

const WORKERS = 3;
const KEYS = ['a', 'b'];
const TTL_MS = 600;
/** A key is kept for half a second for whoever is next in line; a store of sessions looks at its locks from time to time; machines are busy. */
const FREED_AFTER_MS = 3000;

async function open(name: StoreName): Promise<Place> {
  if (name === 'none') return { terms: { apart: true }, servers: [], stop: async () => undefined };
  if (name === 'Postgres') {
    const server = await PostgresServer.start();
    return { terms: { postgres: server.url }, servers: [server], stop: () => server.stop() };
  }
  const servers = await startRedisNodes(name === 'one Redis' ? 1 : 3);
  return { terms: { nodes: servers.map(({ url }) => url) }, servers, stop: () => stopAll(servers) };
}

/** Three processes take, renew and release keys on real servers that hang now and then, as the processes do; one of these is killed at the end. */
export async function record(name: StoreName, forMs: number, seed: number): Promise<HistoryResult> {
  const random = new Prng(seed);
  const place = await open(name);
  const workers: ChildProcess[] = [];
  try {
    for (let index = 0; index < WORKERS; index++) {
      const terms: WorkerTerms = {
        ...place.terms,
        name: nameOf(index),
        keys: KEYS,
        ttlMs: TTL_MS,
        seed: seed + index,
      };
      const env = { TERMS: JSON.stringify(terms) };
      workers.push(await ChildProcess.start(new URL('./worker.ts', import.meta.url), { env }));
    }
    const recorders = workers.map((worker) => new Recorder(worker));
    const [victim, ...others] = recorders.map((recorder) => recorder.record());
    victim!.catch(() => undefined); // it is killed
    const endsAt = performance.now() + forMs;
    let faults = 0;
    for (; performance.now() < endsAt; faults++) {
      await Promise.race([sleep(random.between(0, 500)), Promise.all(others)]);
      const victims = [...place.servers, random.pick(workers)];
      const frozen = random.pick(victims);
      frozen.freeze();
      await sleep(random.between(0, random.pick([50, 1.5 * TTL_MS])));
      frozen.thaw();
    }
    const killedAt = { [nameOf(0)]: nowMs() };
    await workers[0]!.kill();
    const endedAt = nowMs();
    // The others go on for a while without it.
    await Promise.race([sleep(2 * TTL_MS), Promise.all(others)]);
    for (const worker of workers.slice(1)) worker.send('stop');
    await Promise.all(others);
    const history = recorders.flatMap((recorder) => recorder.history(endedAt));
    const terms = { validity, freedAfterMs: FREED_AFTER_MS, forgetful: false, killedAt };
    return { history, violations: violations(history, terms), faults };
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    await place.stop();
  }
}

const nameOf = (worker: number): string => `p${worker + 1}`;

function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
