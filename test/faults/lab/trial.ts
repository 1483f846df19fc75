import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisServer } from '../../support/redis-server.js';
import { TTL_MS, type Adapter } from './adapters.js';
import { GUARDS, nowMs, type WorkerTerms } from './messages.js';
import type { Stage } from './stage.js';
import { WorkerProcess } from './worker-process.js';

const WORKERS = ['a', 'b', 'c', 'd'];
const QUIET_MS = 2500;
/** After healing: for whatever was late to arrive. */
const CALM_MS = 1000;
const RECOVERY_LIMIT_MS = 8000;
const SETTLED_MS = 40;

let trials = 0;

/** What is left after all locks were given back. */
export interface Left {
  readonly keys: readonly string[];
  /** Those of them that outlive their ttl. */
  readonly stuck: readonly string[];
  readonly withoutTtl: readonly string[];
}

/** One fault befalling four workers that contend for one key. */
export class Trial {
  readonly key = `job:${++trials}`;
  readonly servers: RedisServer[];
  workers: readonly WorkerProcess[] = [];
  /** On the machine's monotonic clock, in ms. */
  quietAt = 0;
  brokenAt = 0;
  healedAt = 0;
  /** When the holder that slept, or whose loop was blocked, went on. */
  wokeAt: number | undefined;
  /** When all workers that live had had the lock again. */
  recoveredAt: number | undefined;
  left: Left = { keys: [], stuck: [], withoutTtl: [] };

  constructor(
    readonly stage: Stage,
    readonly adapter: Adapter,
  ) {
    this.servers = stage.redis.slice(0, adapter.nodes);
  }

  get victim(): WorkerProcess {
    return this.workers[0]!;
  }

  get others(): readonly WorkerProcess[] {
    return this.workers.slice(1);
  }

  get counters(): readonly string[] {
    return GUARDS.map((guard) => `${this.key}:${guard}`);
  }

  /** Four workers, each of which has had the lock. @param clocks how far the wall clock of each is off */
  async begin(clocks: readonly number[] = []): Promise<void> {
    await this.stage.tidy(this.servers);
    await this.stage.ledger.open(this.counters);
    const terms = (name: string, index: number): Omit<WorkerTerms, 'nodes' | 'postgres'> => ({
      ...{ name, adapter: this.adapter.id, database: this.stage.database.url, key: this.key },
      ...{ ttlMs: TTL_MS, clockMs: clocks[index] ?? 0 },
    });
    const lines = await Promise.all(WORKERS.map(() => this.stage.lines(this.servers)));
    this.workers = await Promise.all(
      WORKERS.map((name, index) => WorkerProcess.start(lines[index]!, terms(name, index))),
    );
  }

  /** They work for a while, so that there is something to compare with. */
  async quiet(): Promise<void> {
    const start = nowMs();
    for (const worker of this.workers) worker.send({ do: 'work' });
    await Promise.all(this.workers.map((worker) => worker.entryAfter(start, RECOVERY_LIMIT_MS)));
    this.quietAt = nowMs();
    await sleep(QUIET_MS);
    this.brokenAt = nowMs();
  }

  /** From now on the first worker holds the lock, has read, and is to write when told to. */
  async hold(slow = false): Promise<void> {
    const ended = (): number => this.victim.holds.filter(({ long }) => long).length;
    for (let before = ended(); ; before = ended()) {
      this.victim.send({ do: 'hold', slow });
      await this.victim.told('holding');
      await sleep(SETTLED_MS);
      // A library that counts a lease from long before the grant may say that it is over as soon as it begins.
      if (ended() === before) return;
    }
  }

  broken(): void {
    this.brokenAt = nowMs();
  }

  healed(): void {
    this.healedAt = nowMs();
  }

  async pass(): Promise<void> {
    const lines = this.workers.flatMap((worker) => [...worker.lines.redis, worker.lines.postgres]);
    await Promise.all(lines.map((line) => line.pass()));
  }

  /** All are served again, work on for a while, come to rest, and end. */
  async end(): Promise<void> {
    const living = this.workers.filter(({ killedAt }) => killedAt === undefined);
    const back = await Promise.all(living.map((worker) => worker.entryAfter(this.healedAt, RECOVERY_LIMIT_MS)));
    if (back.every((at) => at !== undefined)) this.recoveredAt = Math.max(...back);
    await sleep(CALM_MS);
    await this.rest(living);
  }

  async rest(living: readonly WorkerProcess[] = this.workers): Promise<void> {
    await Promise.all(living.map((worker) => worker.rest()));
    this.left = await this.#look();
    await Promise.all(living.map((worker) => worker.leave()));
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.kill()));
    const lines = this.workers.flatMap((worker) => [...worker.lines.redis, worker.lines.postgres]);
    await Promise.all(lines.map((line) => line.close()));
  }

  async #look(): Promise<Left> {
    const { stage, servers, key } = this;
    const keys = [...(await stage.lockKeys(servers, key)), ...(await stage.advisoryLocks())];
    const withoutTtl = await stage.keysWithoutTtl(servers);
    if (keys.length === 0) return { keys, stuck: [], withoutTtl };
    await sleep(TTL_MS + 100);
    return { keys, stuck: await stage.lockKeys(servers, key), withoutTtl };
  }
}
