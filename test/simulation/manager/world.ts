import { setImmediate } from 'node:timers';
import { LinedNode } from '../../stores/redis/simulation/lined-node.js';
import type { RunResult, Trace } from '../campaign.js';
import { GrantLog } from '../grant-log.js';
import { Link } from '../link.js';
import { Prng } from '../prng.js';
import { SimProcess } from '../sim-process.js';
import { Timeline } from '../timeline.js';
import { Calls } from './calls.js';
import { FAULT_KINDS, Faults, type NodePlace } from './faults.js';
import { LeaseBook } from './lease-book.js';
import { Pod, type PodTerms } from './pod.js';
import type { Scenario } from './scenarios.js';
import { WatchedTurns } from './watched-turns.js';
import { Wire } from './wire.js';

const WORK_MS = 1500;
/** All that was begun is over by then: faults, waits, holds, shutdowns, leases. */
const END_MS = 30_000;
const PODS = 3;
const KEYS = ['a', 'b', 'c'];
const RETENTION_MS = 86_400_000;
/** Of each clock, either way: two of them then differ by the 1 % that a lease allows for. */
const PACE_ERROR = 0.004_97;
/** How often the watchdog looks at the clocks at least: a machine that slept, or whose wall clock was set, learns of a loss by then. */
const LONGEST_SLEEP_MS = 1000;

/** Pods with the real manager, Redis nodes and the network between them, for one run. All that happens follows from the seed. */
class World {
  readonly violations: string[] = [];
  readonly grants: GrantLog;
  readonly #timeline = new Timeline();
  readonly #prng: Prng;
  readonly #nodes: readonly NodePlace[];
  readonly #book: LeaseBook;
  readonly #calls: Calls;
  readonly #late;
  readonly #terms: PodTerms;
  readonly #processes: SimProcess[] = [];
  readonly #wires: Wire[] = [];
  readonly #pods: Pod[] = [];
  readonly #faults: Faults;

  constructor(
    seed: number,
    scenario: Scenario,
    private readonly trace: Trace | undefined,
  ) {
    const prng = (this.#prng = new Prng(seed));
    const timeline = this.#timeline;
    const now = (): number => timeline.nowMs;
    const broken = (what: string): void => this.#broken(what);
    const amnesia = scenario.amnesia !== false && prng.chance(0.5);
    const risingAfterMs = amnesia ? 2 * PACE_ERROR * END_MS + 2 : 0;
    this.grants = new GrantLog({ distinct: !amnesia, risingAfterMs, exclusive: false });
    this.#book = new LeaseBook(now, broken, LONGEST_SLEEP_MS);
    this.#calls = new Calls(now, broken);
    const ttls = prng.pick([[120], [300], [150, 600]]);
    // How bad things are differs from run to run: what only few faults, or only many, bring about is found as well.
    this.#late = { rate: prng.fraction() ** 3 * 0.3, mostMs: prng.pick([50, 300, 1500]) };
    const quarantineMs = scenario.quarantine === false ? 0 : Math.max(...ttls);
    this.#terms = { keys: KEYS.slice(0, prng.pick([1, 1, 2, 3])), ttls, quarantineMs, variant: scenario };
    const Node = scenario.Node ?? LinedNode;
    this.#nodes = Array.from({ length: scenario.nodes ?? prng.pick([1, 3]) }, () => {
      const pace = this.#pace();
      const terms = { retentionMs: RETENTION_MS, quarantineMs };
      const node = new Node(terms, () => Math.floor((timeline.nowMs + RETENTION_MS) * pace));
      node.mark();
      return { node, server: { frozen: false, down: false, life: 0 } };
    });
    const boot = (): Pod => this.#boot();
    for (let pods = 0; pods < PODS; pods++) this.#pods.push(boot());
    const strikes = prng.chance(0.25);
    const tell = (what: string): void => this.trace?.(this.#stamped(what));
    this.#faults = new Faults(
      { timeline, prng, nodes: this.#nodes, pods: this.#pods, boot, trace: tell },
      {
        amnesia,
        walls: amnesia ? 'kept' : prng.pick(['set', 'sleep']),
        ttlMs: prng.pick(ttls),
        longestMs: prng.pick([200, 800, 2000]),
        everyMs: strikes ? 100 : prng.pick([100, 300, 1000]),
        kinds: strikes ? ['strike'] : FAULT_KINDS,
      },
    );
  }

  async run(): Promise<void> {
    await this.#until(WORK_MS);
    this.#faults.end();
    for (const pod of this.#pods) if (pod.process.alive) pod.process.run(() => pod.close());
    this.#timeline.after(END_MS - WORK_MS, () => undefined);
    await this.#until(END_MS);
    if (this.violations.length > 0) return;
    this.#book.close();
    this.#calls.close();
    this.#lookForLeftovers();
  }

  async #until(endMs: number): Promise<void> {
    const timeline = this.#timeline;
    while (this.violations.length === 0 && timeline.next(endMs)) {
      if (!timeline.stirred) continue;
      timeline.stirred = false;
      await new Promise((resolve) => setImmediate(resolve)); // all that follows from this event in the processes has happened by then
      this.#book.judge();
      for (const violation of this.grants.violations.splice(0)) this.#broken(violation);
    }
  }

  #lookForLeftovers(): void {
    for (const process of this.#processes) {
      if (process.alive && process.pendingTimers > 0)
        this.#broken(`${process.name}: ${process.pendingTimers} timers left`);
    }
    const living = this.#wires.filter(({ process }) => process.alive);
    const listeners = living.reduce((sum, wire) => sum + wire.listeners, 0);
    if (listeners > 0) this.#broken(`${listeners} listeners left`);
    for (const { node } of this.#nodes) {
      for (const key of KEYS) if (node.holder(key) !== undefined) this.#broken(`${key} left with ${node.holder(key)}`);
    }
  }

  #boot(): Pod {
    const timeline = this.#timeline;
    const prng = this.#prng;
    const process = new SimProcess(`p${this.#processes.length + 1}`, this.#pace(), timeline, prng);
    this.#processes.push(process);
    const { Turns = WatchedTurns } = this.#terms.variant;
    const wires = this.#nodes.map(
      ({ node, server }, index) =>
        new Wire(`n${index}`, node, new Link(process, server, timeline, prng, this.#late), process, Turns),
    );
    this.#wires.push(...wires);
    const { grants } = this;
    return new Pod(process, wires, this.#terms, {
      ...{ timeline, prng, grants, book: this.#book, calls: this.#calls },
      broken: (what) => this.#broken(what),
      trace: (what) => this.trace?.(this.#stamped(what)),
    });
  }

  #pace(): number {
    return 1 + this.#prng.between(-PACE_ERROR, PACE_ERROR);
  }

  #broken(what: string): void {
    this.trace?.(this.#stamped(`BROKEN: ${what}`));
    this.violations.push(what);
  }

  #stamped(what: string): string {
    return `${this.#timeline.nowMs.toFixed(1).padStart(8)} ${what}`;
  }
}

export async function simulate(seed: number, scenario: Scenario, trace?: Trace): Promise<RunResult> {
  const world = new World(seed, scenario, trace);
  await world.run();
  return { seed, grants: world.grants.count, violations: world.violations };
}
