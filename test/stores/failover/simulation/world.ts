import { setImmediate } from 'node:timers';
import type { RunResult, Trace } from '../../../simulation/campaign.js';
import { GrantLog, type Lease } from '../../../simulation/grant-log.js';
import { ModelNode } from '../../redis/simulation/model-node.js';
import { Prng } from '../../../simulation/prng.js';
import { Link, type Server } from '../../../simulation/link.js';
import { ModelPostgres } from './model-postgres.js';
import { Pod, type PodTerms } from './pod.js';
import type { Conditions } from './scenarios.js';
import { SimProcess } from '../../../simulation/sim-process.js';
import { Timeline } from '../../../simulation/timeline.js';

export interface FailoverRun extends RunResult {
  /** How often a lock was carried over to Postgres, and how often the authority came back to Redis. */
  readonly carried: number;
  readonly returns: number;
}

const END_MS = 20_000;
const PODS = 4;
const KEYS = ['a', 'b', 'c'];
const RETENTION_MS = 86_400_000;
/** Of each clock, either way: two of them then differ by the 1 % that a lease allows for. */
const PACE_ERROR = 0.004_97;
const WEEKS_MS = 2e9;

/** Pods, Redis nodes, a Postgres and the network between them, for one run. All that happens follows from the seed. */
class World {
  readonly violations: string[] = [];
  readonly grants: GrantLog;
  readonly postgres: ModelPostgres;
  returns = 0;
  readonly #timeline = new Timeline();
  readonly #prng: Prng;
  readonly #nodes: { readonly node: ModelNode; readonly server: Server }[];
  readonly #amnesia: boolean;
  readonly #late;
  readonly #terms: PodTerms;
  readonly #beliefs = new Map<string, Set<Lease>>();
  readonly #pods: { process: SimProcess; links: readonly Link[] }[];
  #born = 0;
  #epoch = 1;

  constructor(
    seed: number,
    conditions: Conditions,
    private readonly trace: Trace | undefined,
  ) {
    const prng = (this.#prng = new Prng(seed));
    // A Redis that came back empty has only clocks to go by: then they may not be set, and tokens are compared as far as clocks agree.
    this.#amnesia = prng.chance(0.5);
    const risingAfterMs = this.#amnesia ? 2 * PACE_ERROR * END_MS + 2 : 0;
    this.grants = new GrantLog({ distinct: !this.#amnesia, risingAfterMs, exclusive: false });
    const ttls = prng.pick([[300], [900], [300, 1200]]);
    this.#late = { rate: prng.fraction() ** 3 * 0.2, mostMs: prng.pick([100, 1000, 4000]) };
    this.#terms = {
      keys: KEYS.slice(0, prng.pick([1, 2, 3])),
      ttls,
      failover: {
        available: false,
        leaseMs: prng.pick([300, 600]),
        failoverAfterMs: prng.pick([0, 100, 300]),
        returnAfterMs: prng.pick([0, 100, 400]),
        onAuthorityChange: ({ from, to, epoch, reason }) => this.#changed(from, to, epoch, reason),
      },
      Authority: conditions.Authority,
    };
    const terms = { retentionMs: RETENTION_MS, quarantineMs: Math.max(...ttls) };
    this.#nodes = Array.from({ length: conditions.nodes }, () => {
      const pace = this.#pace();
      const node = new ModelNode(terms, () => Math.floor((this.#timeline.nowMs + RETENTION_MS) * pace));
      node.mark();
      return { node, server: { frozen: false, down: false } };
    });
    const pace = this.#pace();
    this.postgres = new conditions.Postgres(() => this.#timeline.nowMs * pace, Math.max(...ttls));
    this.#pods = Array.from({ length: PODS }, () => this.#boot());
    this.#planFault();
  }

  async run(): Promise<void> {
    while (this.#timeline.next(END_MS)) {
      if (!this.#timeline.stirred) continue;
      this.#timeline.stirred = false;
      await new Promise((resolve) => setImmediate(resolve)); // all that follows from this event in the processes has happened by then
      this.#judge();
      if (this.violations.length > 0) return;
    }
  }

  #planFault(): void {
    this.#timeline.after(this.#prng.between(20, 1200), () => {
      this.#fault();
      this.#planFault();
    });
  }

  #fault(): void {
    const prng = this.#prng;
    const pod = prng.pick(this.#pods);
    const forMs = prng.fraction() ** 2 * prng.pick([500, 4000]);
    const until = (end: () => void): void => this.#timeline.after(forMs, end);
    switch (prng.pick(['redis', 'redis', 'node', 'pause', 'path', 'path', 'postgres', 'die', 'skew'] as const)) {
      case 'redis':
        return this.#disturb(this.#nodes, until);
      case 'node':
        return this.#disturb([prng.pick(this.#nodes)], until);
      case 'pause':
        this.trace?.(`${pod.process.name} stands still for ${forMs} ms`);
        return pod.process.pause(forMs);
      case 'path': {
        const link = prng.pick(pod.links);
        link.path = prng.pick(['cut', 'silent']);
        this.trace?.(`${pod.process.name}: link ${pod.links.indexOf(link)} is ${link.path} for ${forMs} ms`);
        return until(() => (link.path = 'up'));
      }
      case 'postgres':
        this.trace?.(`Postgres hangs for ${forMs} ms`);
        this.postgres.frozen = true;
        return until(() => (this.postgres.frozen = false));
      case 'die':
        this.trace?.(`${pod.process.name} dies`);
        pod.process.alive = false;
        this.postgres.endOf(pod.process.name);
        return until(() => (this.#pods[this.#pods.indexOf(pod)] = this.#boot()));
      case 'skew':
        if (!this.#amnesia) pod.process.skewMs = prng.between(-1, 1) * prng.pick([0, 50, WEEKS_MS]);
        return;
    }
  }

  #disturb(
    nodes: readonly { readonly node: ModelNode; readonly server: Server }[],
    until: (end: () => void) => void,
  ): void {
    const fault = this.#prng.pick(['frozen', 'down'] as const);
    const empty = this.#amnesia && fault === 'down' && this.#prng.chance(0.6);
    this.trace?.(`${nodes.length} of Redis ${fault}${empty ? ', and will be empty' : ''}`);
    for (const { server } of nodes) server[fault] = true;
    until(() => {
      this.trace?.(`${nodes.length} of Redis well again`);
      for (const { node, server } of nodes) {
        server[fault] = false;
        if (empty) node.forgetAll();
      }
    });
  }

  #boot(): { process: SimProcess; links: readonly Link[] } {
    const timeline = this.#timeline;
    const prng = this.#prng;
    const process = new SimProcess(`p${++this.#born}`, this.#pace(), timeline, prng);
    const link = (server: Server): Link => new Link(process, server, timeline, prng, this.#late);
    const nodes = this.#nodes.map(({ node, server }) => ({ node, link: link(server) }));
    const postgres = { server: this.postgres, link: link(this.postgres) };
    const world = {
      timeline,
      prng,
      nodes,
      postgres,
      grants: this.grants,
      believed: (belief: Lease) => this.#believed(belief),
    };
    new Pod(process, this.#terms, world, (message) => this.trace?.(`${process.name}: ${message}`));
    return { process, links: [...nodes, postgres].map((each) => each.link) };
  }

  #pace(): number {
    return 1 + this.#prng.between(-PACE_ERROR, PACE_ERROR);
  }

  #changed(from: string | undefined, to: string, epoch: number, reason: string): void {
    if (epoch <= this.#epoch) return;
    this.#epoch = epoch;
    this.trace?.(`${from} -> ${to} (${epoch}): ${reason}`);
    if (from === 'BOTH' && to === 'REDIS') this.returns++;
  }

  #believed(belief: Lease): void {
    this.trace?.(`${belief.owner} has ${belief.keys.join()}`);
    for (const key of belief.keys) {
      const beliefs = this.#beliefs.get(key) ?? new Set();
      this.#beliefs.set(key, beliefs.add(belief));
    }
  }

  #judge(): void {
    for (const [key, beliefs] of this.#beliefs) {
      for (const belief of beliefs) if (!belief.valid) beliefs.delete(belief);
      if (beliefs.size < 2) continue;
      const holders = [...beliefs].map(({ owner }) => owner).join(' and ');
      this.#broken(`two holders of ${key} at ${this.#timeline.nowMs.toFixed(1)} ms: ${holders}`);
    }
    for (const violation of this.grants.violations.splice(0)) this.#broken(violation);
  }

  #broken(what: string): void {
    this.trace?.(`BROKEN: ${what}`);
    this.violations.push(what);
  }
}

export async function simulate(seed: number, conditions: Conditions, trace?: Trace): Promise<FailoverRun> {
  const world = new World(seed, conditions, trace);
  await world.run();
  const { grants, violations, returns, postgres } = world;
  return { seed, grants: grants.count, violations, carried: postgres.carried, returns };
}
