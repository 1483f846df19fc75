import type { Runtime } from '../../../lib/runtime.js';
import { AuthorityLease } from '../../../lib/stores/failover/authority-lease.js';
import type { Authority, AuthorityState, PodReport } from '../../../lib/stores/failover/authority.js';
import { FailoverStore } from '../../../lib/stores/failover/failover.store.js';
import { toFailoverTerms, type FailoverOptions } from '../../../lib/stores/failover/failover.options.js';
import type { FallbackStore } from '../../../lib/stores/failover/fallback-store.js';
import type { PrimaryStore } from '../../../lib/stores/failover/primary-store.js';
import { RedisHealth } from '../../../lib/stores/failover/redis-health.js';
import type { AcquireResult } from '../../../lib/stores/lock-store.js';
import { MemoryStore } from '../../../lib/stores/memory.store.js';
import { ManualRuntime } from '../../../lib/testing/manual-runtime.js';

export const LEASE_MS = 6000;
export const TTL_MS = 30_000;
const FAR = Number.MAX_SAFE_INTEGER;

/** Redis, in memory. While it is `down` it answers nothing. */
export class PrimaryStandIn extends MemoryStore implements PrimaryStore {
  down = false;
  floor = 0;
  /** Answers are held back until then. */
  gate: Promise<void> | undefined;

  override async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
    if (this.down) throw new Error('Redis is down');
    const { floor } = this;
    const result = await super.acquire(key, owner, ttlMs);
    await this.gate;
    if (!result.acquired || result.fencingToken > floor) return result;
    await super.raise(key, owner, floor + 1);
    return { acquired: true, fencingToken: floor + 1 };
  }

  override async renew(...args: Parameters<MemoryStore['renew']>): Promise<boolean> {
    if (this.down) throw new Error('Redis is down');
    return super.renew(...args);
  }

  override async release(...args: Parameters<MemoryStore['release']>): Promise<boolean> {
    if (this.down) throw new Error('Redis is down');
    return super.release(...args);
  }

  proposeAbove(fencingToken: number): void {
    this.floor = fencingToken;
  }
}

/** Postgres, in memory: the row is as the test says. What is tied to it is refused in another state, as there. */
export class FallbackStandIn extends MemoryStore implements FallbackStore {
  row: Authority = {
    ...{ state: 'REDIS', epoch: 1, reason: 'nothing has happened yet', leaseMs: LEASE_MS, ttlMs: TTL_MS },
    ...{ tokenFloor: 0, tokenLead: 0, tokenCeiling: FAR, pods: { all: 1, down: 0, up: 0 } },
  };
  /** Why it is out of reach. */
  trouble: string | undefined;
  readonly reports: PodReport[] = [];
  readonly moves: string[] = [];
  /** The keys that only this store has. */
  readonly alone = new Set<string>();
  /** What is carried over is held back until then. */
  gate: Promise<void> | undefined;
  #lost: (() => void) | undefined;

  to(state: AuthorityState, reason = `to ${state}`): void {
    this.row = { ...this.row, state, epoch: this.row.epoch + 1, reason };
  }

  async consult(report: PodReport): Promise<Authority> {
    if (this.trouble !== undefined) throw new Error(this.trouble);
    this.reports.push(report);
    const { leaseMs, ttlMs } = this.row;
    this.row = { ...this.row, leaseMs: Math.max(leaseMs, report.leaseMs), ttlMs: Math.max(ttlMs, report.ttlMs) };
    return this.row;
  }

  async move(epoch: number, to: AuthorityState, reason: string): Promise<Authority> {
    this.moves.push(to);
    if (epoch === this.row.epoch && !(to === 'REDIS' && this.alone.size > 0)) this.to(to, reason);
    return this.row;
  }

  async acquireUnder(
    state: 'POSTGRES' | 'BOTH',
    key: string,
    owner: string,
    ttlMs: number,
  ): Promise<AcquireResult | undefined> {
    if (this.row.state !== state) return undefined;
    const result = await this.acquire(key, owner, ttlMs);
    if (result.acquired && state === 'POSTGRES') this.alone.add(key);
    return result;
  }

  async carry(epoch: number, key: string, owner: string, ttlMs: number): Promise<boolean | undefined> {
    await this.gate;
    if (this.row.state !== 'DRAINING' || this.row.epoch !== epoch) return undefined;
    const ours = (await this.renew(key, owner, ttlMs)) || (await this.acquire(key, owner, ttlMs)).acquired;
    if (ours) this.alone.add(key);
    return ours;
  }

  async renewAlone(key: string, owner: string, ttlMs: number, alone: boolean): Promise<boolean | undefined> {
    if (alone && this.row.state !== 'POSTGRES') return undefined;
    if (!(await this.renew(key, owner, ttlMs))) return false;
    if (alone) this.alone.add(key);
    else this.alone.delete(key);
    return true;
  }

  override async release(key: string, owner: string, keepForMs?: number): Promise<boolean> {
    this.alone.delete(key);
    return super.release(key, owner, keepForMs);
  }

  onLoss(_key: string, _owner: string, lost: () => void): () => void {
    this.#lost = lost;
    return () => (this.#lost = undefined);
  }

  breakConnection(): void {
    this.#lost?.();
  }
}

/** One process with both, on a clock that the test moves. */
export class FailoverBench {
  readonly log: string[] = [];
  readonly lease: AuthorityLease;
  readonly store: FailoverStore;

  constructor(
    options: FailoverOptions = {},
    readonly runtime = new ManualRuntime(),
    readonly redis = new PrimaryStandIn(runtime),
    readonly postgres = new FallbackStandIn(runtime),
  ) {
    const terms = toFailoverTerms(options);
    const health = new RedisHealth(redis, terms, 'pod', runtime);
    const log = (line: string): void => void this.log.push(line);
    this.lease = new AuthorityLease(postgres, health, 'pod', TTL_MS, terms, runtime as Runtime, log);
    this.store = new FailoverStore(redis, postgres, this.lease, runtime);
  }

  static async start(options?: FailoverOptions): Promise<FailoverBench> {
    const bench = new FailoverBench(options);
    await bench.lease.start();
    return bench;
  }

  /** The row changes, and this process looks. */
  async to(state: AuthorityState): Promise<void> {
    this.postgres.to(state);
    await this.lease.look();
  }
}
