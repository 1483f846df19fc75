import { LockManager } from '../../../../lib/lock-manager.js';
import type { Lock } from '../../../../lib/lock.js';
import { AuthorityLease } from '../../../../lib/stores/failover/authority-lease.js';
import { FailoverStore } from '../../../../lib/stores/failover/failover.store.js';
import type { FailoverTerms } from '../../../../lib/stores/failover/failover.options.js';
import { RedisHealth } from '../../../../lib/stores/failover/redis-health.js';
import type { LockNode } from '../../../../lib/stores/redis/lock-node.js';
import { promisedNode } from '../../redis/promised.js';
import { RedlockStore } from '../../../../lib/stores/redis/redlock.store.js';
import type { GrantLog, Lease } from '../../../simulation/grant-log.js';
import type { ModelNode } from '../../redis/simulation/model-node.js';
import type { Prng } from '../../../simulation/prng.js';
import type { Link } from '../../../simulation/link.js';
import { ModelFallback } from './model-fallback.js';
import type { ModelPostgres } from './model-postgres.js';
import type { SimProcess } from '../../../simulation/sim-process.js';
import type { Timeline } from '../../../simulation/timeline.js';
import { Witness } from './witness.js';

export interface PodTerms {
  readonly keys: readonly string[];
  readonly ttls: readonly number[];
  readonly failover: FailoverTerms;
  readonly Authority: typeof AuthorityLease;
}

export interface Surroundings {
  readonly timeline: Timeline;
  readonly prng: Prng;
  readonly nodes: readonly { readonly node: ModelNode; readonly link: Link }[];
  readonly postgres: { readonly server: ModelPostgres; readonly link: Link };
  readonly grants: GrantLog;
  believed(belief: Lease): void;
}

const NODE_TIMEOUT_MS = 40;
const LONGEST_PAUSE_MS = 300;

/** One process with the real manager and stores, whose work is to take locks, hold them for a while, and give them back or forget them. */
export class Pod {
  readonly #locks: LockManager;

  constructor(
    readonly process: SimProcess,
    private readonly terms: PodTerms,
    private readonly world: Surroundings,
    log: (message: string) => void,
  ) {
    const quarantineMs = Math.max(...terms.ttls);
    const nodes = world.nodes.map(({ node, link }, index) => this.#connect(`n${index}`, node, link));
    const redis = new RedlockStore(
      nodes,
      { nodeTimeoutMs: NODE_TIMEOUT_MS, quarantineMs, log: () => undefined },
      process,
    );
    const { server, link } = world.postgres;
    const fallback = new ModelFallback(server, link, process);
    const health = new RedisHealth(redis, terms.failover, process.name, process);
    const lease = new terms.Authority(fallback, health, process.name, terms.ttls[0]!, terms.failover, process, log);
    const store = new FailoverStore(redis, fallback, lease, process);
    this.#locks = new LockManager(new Witness(store, process, (belief) => world.believed(belief)), {}, process);
    void lease.start();
    // Two jobs at once, so that looks, renewals and grants of one process cross.
    for (let jobs = 0; jobs < 2; jobs++) void this.#work();
  }

  async #work(): Promise<void> {
    const { prng, timeline, grants } = this.world;
    for (;;) {
      await this.#sleep(prng.between(1, LONGEST_PAUSE_MS));
      const ttlMs = prng.pick(this.terms.ttls);
      const startedAt = timeline.nowMs;
      const options = {
        ttl: `${ttlMs}ms`,
        autoRenew: prng.chance(0.85),
        wait: prng.chance(0.3) ? `${Math.ceil(prng.between(1, 500))}ms` : 0,
        minHold: prng.chance(0.1) ? `${Math.ceil(prng.between(1, ttlMs))}ms` : 0,
      } as const;
      const lock = await this.#locks.acquire(this.#someKeys(), options).catch(() => undefined);
      if (!lock) continue;
      for (const key of lock.keys) {
        grants.granted({ key, token: lock.fencingToken, startedAt, grantedAt: timeline.nowMs });
      }
      await this.#hold(lock, ttlMs);
    }
  }

  async #hold(lock: Lock, ttlMs: number): Promise<void> {
    const { prng } = this.world;
    const longest = prng.chance(0.2) ? 12 : 2;
    const pieces = 4;
    for (let piece = 0; piece < pieces && lock.held; piece++) {
      await this.#sleep((prng.fraction() * longest * ttlMs) / pieces);
    }
    if (prng.chance(0.9)) await lock.release();
  }

  #someKeys(): string | string[] {
    const { keys } = this.terms;
    const [first, second] = [this.world.prng.pick(keys), this.world.prng.pick(keys)];
    return first !== second && this.world.prng.chance(0.3) ? [first, second] : first;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.process.timers.start(resolve, ms));
  }

  #connect(name: string, node: ModelNode, link: Link): LockNode {
    return promisedNode(name, (request, timeoutMs, late) => {
      if (link.refused) return Promise.reject(new Error('not connected'));
      return new Promise((resolve, reject) => {
        let overdue = false;
        const cancel = this.process.timers.start(() => {
          overdue = true;
          reject(new Error('no answer in time'));
        }, timeoutMs);
        link.send(
          () => node.serve(request),
          (reply) => {
            cancel();
            if (overdue) late(reply);
            else resolve(reply);
          },
        );
      });
    });
  }
}
