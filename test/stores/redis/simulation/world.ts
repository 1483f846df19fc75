import { setImmediate } from 'node:timers';
import type { RunResult, Trace } from '../../../simulation/campaign.js';
import { type Conditions, promisesUnder } from './conditions.js';
import { GrantLog, type Promises } from '../../../simulation/grant-log.js';
import { ModelNode } from './model-node.js';
import { Network } from './network.js';
import { Pod } from './pod.js';
import { Prng } from '../../../simulation/prng.js';

const STEPS = 400;
const PODS = 4;
const KEYS = ['a', 'b', 'c'];
const TTL_MS = 100;
const RETENTION_MS = 86_400_000;
/** Of each clock, either way: two of them then differ by the 1 % that a lease allows for. */
const PACE_ERROR = 0.004_97;
const WEEKS_MS = 2e9;
/** Nodes and processes have been up for a while. */
const START_MS = 1000;

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Nodes, processes and the network between them, for one run. All that happens follows from the seed. */
class World {
  readonly log: GrantLog;
  readonly #random: Prng;
  readonly #nodes: ModelNode[];
  readonly #network: Network;
  readonly #pods: Pod[];
  readonly #keys: readonly string[];
  readonly #nextEvent;
  readonly #stepMs: number;
  readonly #standstill: boolean;
  #nowMs = START_MS;
  #born = 0;

  constructor(
    seed: number,
    private readonly conditions: Conditions,
    promises: Promises,
    private readonly trace: Trace | undefined,
  ) {
    const random = (this.#random = new Prng(seed));
    const { amnesia, expiry, storm = false, Node = ModelNode } = conditions;
    this.log = new GrantLog(promises);
    // How bad things are differs from run to run: what only few faults, or only many, bring about is found as well.
    const grade = (most: number): number => most * random.fraction() ** 2;
    this.#keys = KEYS.slice(0, storm ? 1 : random.pick([1, 1, 2, 3]));
    this.#stepMs = random.pick([0.2, 1, 3]);
    this.#standstill = conditions.skewMs === 'wild' && random.chance(0.5);
    this.#nextEvent = random.chooser({
      deliver: 60,
      start: 12,
      release: storm ? 0 : 5,
      renew: storm ? 0 : 5,
      die: random.pick([0, 1]),
      timeOut: expiry === 'any' && !storm ? grade(8) : 0,
      expire: expiry === 'any' ? (storm ? 40 : 2) + grade(20) : 0,
      stall: storm ? 4 : grade(4),
      pause: expiry === 'honest' ? grade(3) : 0,
      adjustClock: grade(4),
      restart: amnesia ? 0.3 + grade(3) : 0,
      restartAll: amnesia ? grade(1) : 0,
      forgetFence: amnesia ? grade(2) : 0,
    });
    const terms = { retentionMs: RETENTION_MS, quarantineMs: this.#quarantineMs };
    this.#nodes = Array.from({ length: conditions.nodes }, () => new Node(terms, this.#nodeClock()));
    for (const node of this.#nodes) node.mark();
    const faults = {
      lossRate: storm ? 0 : grade(0.2),
      duplicationRate: storm ? random.between(0.5, 0.9) : grade(0.5),
      downRate: storm ? 0 : grade(0.1),
    };
    this.#network = new Network(this.#nodes, faults, random, () => this.#nowMs, trace);
    this.#pods = Array.from({ length: PODS }, () => this.#boot());
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      this.#nowMs += this.#random.between(0.01, this.#stepMs);
      if (this.conditions.expiry === 'honest') this.#network.timeOutDue();
      this.#happen();
      await settle(); // all that follows from this event in the processes has happened by then
    }
  }

  #happen(): void {
    const random = this.#random;
    const pod = random.pick(this.#pods);
    const node = random.pick(this.#nodes);
    switch (this.#nextEvent()) {
      case 'deliver':
        for (let left = 1 + random.below(this.#nodes.length); left > 0 && this.#network.busy; left--)
          this.#network.deliver();
        return;
      case 'start':
        if (pod.idle) pod.start(this.#someKeys());
        return;
      case 'release':
        return pod.release(random.chance(0.2) ? random.below(TTL_MS) : 0);
      case 'renew':
        if (pod.claims.length > 0) void pod.renew(random.pick(pod.claims));
        return;
      case 'die':
        pod.die();
        this.#pods[this.#pods.indexOf(pod)] = this.#boot();
        return;
      case 'timeOut':
        return this.#network.timeOutAny();
      case 'stall':
        return this.#network.stall(pod);
      case 'expire':
        return this.#expire(node, random.pick(this.#keys));
      case 'pause':
        this.#nowMs += random.between(0, TTL_MS);
        return;
      case 'adjustClock':
        pod.skewMs = this.#someSkew();
        return;
      case 'restart':
        return this.#restart(node);
      case 'restartAll':
        return this.#nodes.forEach((each) => this.#restart(each));
      case 'forgetFence':
        return node.expireFence(random.pick(this.#keys));
    }
  }

  #someKeys(): readonly string[] {
    const first = this.#random.pick(this.#keys);
    const second = this.#random.pick(this.#keys);
    return first === second || this.#random.chance(0.5) ? [first] : [first, second].sort();
  }

  #expire(node: ModelNode, key: string): void {
    this.trace?.(`n${this.#nodes.indexOf(node)} lets ${key} of ${node.holder(key)} expire`);
    node.expireLock(key);
  }

  #restart(node: ModelNode): void {
    const index = this.#nodes.indexOf(node);
    this.trace?.(`n${index} restarts empty`);
    node.forgetAll();
    // Where exclusion counts, as in life. For tokens it makes no difference, so there the requests survive, which is harsher.
    if (this.conditions.expiry === 'honest') this.#network.cut(index);
  }

  #boot(): Pod {
    const terms = {
      name: `p${++this.#born}`,
      pace: this.#pace(),
      ttlMs: TTL_MS,
      quarantineMs: this.#quarantineMs,
      standstill: this.#standstill,
    };
    const pod = new Pod(terms, this.#network, this.#random, () => this.#nowMs, this.log, this.trace);
    pod.skewMs = this.#someSkew();
    return pod;
  }

  get #quarantineMs(): number {
    return this.conditions.quarantine ? TTL_MS : 0;
  }

  #nodeClock(): () => number {
    const pace = this.#pace();
    return this.conditions.expiry === 'honest' ? () => Math.floor(this.#nowMs * pace) : () => START_MS;
  }

  #pace(): number {
    return this.conditions.expiry === 'honest' ? 1 + this.#random.between(-PACE_ERROR, PACE_ERROR) : 1;
  }

  #someSkew(): number {
    const { skewMs } = this.conditions;
    return this.#random.between(-1, 1) * (skewMs === 'wild' ? WEEKS_MS : skewMs);
  }
}

export async function simulate(seed: number, conditions: Conditions, trace?: Trace): Promise<RunResult> {
  const world = new World(seed, conditions, promisesUnder(conditions), trace);
  await world.run();
  return { seed, grants: world.log.count, violations: world.log.violations };
}
