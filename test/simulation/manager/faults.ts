import type { LinedNode } from '../../stores/redis/simulation/lined-node.js';
import type { Server } from '../link.js';
import type { Prng } from '../prng.js';
import type { Timeline } from '../timeline.js';
import type { Pod } from './pod.js';

export interface NodePlace {
  readonly node: LinedNode;
  readonly server: Server;
}

export interface Disturbed {
  readonly timeline: Timeline;
  readonly prng: Prng;
  readonly nodes: readonly NodePlace[];
  /** Those that live now; one that dies is replaced. */
  readonly pods: Pod[];
  readonly boot: () => Pod;
  readonly trace: (what: string) => void;
}

export interface FaultTerms {
  /** Whether nodes may come back empty. */
  readonly amnesia: boolean;
  /**
   * How wall clocks may be trusted: `kept` while nodes may come back empty, since tokens have nothing else to go by; or else they are `set` at any time, or
   * machines `sleep`, through which nothing but the wall clock goes on.
   */
  readonly walls: 'kept' | 'set' | 'sleep';
  readonly longestMs: number;
  readonly ttlMs: number;
  readonly everyMs: number;
  /** Some runs see one kind only, again and again. */
  readonly kinds: readonly FaultKind[];
}

const WEEKS_MS = 2e9;
export const FAULT_KINDS = [
  'redis',
  'node',
  'node',
  'pause',
  'pause',
  'path',
  'path',
  'die',
  'skew',
  'suspend',
  'strike',
  'strike',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** Draws from the seed what goes wrong, when, and for how long. */
export class Faults {
  #over = false;

  constructor(
    private readonly world: Disturbed,
    private readonly terms: FaultTerms,
  ) {
    this.#plan();
  }

  /** What has begun still ends in its time. */
  end(): void {
    this.#over = true;
  }

  #plan(): void {
    const { timeline, prng } = this.world;
    timeline.after(prng.between(10, this.terms.everyMs), () => {
      if (this.#over) return;
      this.#befall();
      this.#plan();
    });
  }

  #befall(): void {
    const { prng, nodes, pods, trace } = this.world;
    const pod = prng.pick(pods);
    const forMs = prng.fraction() ** 2 * this.terms.longestMs;
    switch (prng.pick(this.terms.kinds)) {
      case 'redis':
        return this.#disturb(nodes, forMs);
      case 'node':
        return this.#disturb([prng.pick(nodes)], forMs);
      case 'pause':
        trace(`${pod.process.name} stands still for ${forMs.toFixed(1)} ms`);
        return pod.process.pause(forMs);
      case 'suspend':
        if (this.terms.walls === 'set') return;
        trace(`the machine of ${pod.process.name} sleeps for ${forMs.toFixed(1)} ms`);
        return pod.process.suspend(forMs);
      case 'strike':
        return this.#strike(pod, prng.between(0.5, 2) * this.terms.ttlMs);
      case 'path':
        return this.#breakPath(pod, forMs);
      case 'die':
        return this.#kill(pod, forMs);
      case 'skew':
        if (this.terms.walls !== 'set') return;
        pod.process.skewMs = prng.between(-1, 1) * prng.pick([0, 50, WEEKS_MS]);
        return trace(`the wall clock of ${pod.process.name} is set: off by ${pod.process.skewMs.toFixed(0)} ms`);
    }
  }

  /** The process stands still just when it has asked for a renewal, and what it asked for is on its way for about as long. */
  #strike(pod: Pod, forMs: number): void {
    const { prng, timeline, trace } = this.world;
    const lateMs = prng.between(0.6, 1) * forMs;
    let begun = false;
    for (const wire of pod.wires) {
      wire.strike = () => {
        if (!begun) {
          trace(
            `${pod.process.name} stands still for ${forMs.toFixed(1)} ms, its renewal is late by ${lateMs.toFixed(1)} ms`,
          );
          timeline.after(0, () => pod.process.pause(forMs));
        }
        begun = true;
        return lateMs;
      };
    }
  }

  #disturb(places: readonly NodePlace[], forMs: number): void {
    const { prng, nodes, pods, timeline, trace } = this.world;
    const fault = prng.pick(['frozen', 'down'] as const);
    const empty = this.terms.amnesia && fault === 'down' && prng.chance(0.6);
    const names = places.map((place) => `n${nodes.indexOf(place)}`).join('+');
    trace(`${names} ${fault} for ${forMs.toFixed(1)} ms${empty ? ', and will be empty' : ''}`);
    const wires = places.flatMap((place) => pods.map((pod) => pod.wires[nodes.indexOf(place)]!));
    for (const { server, node } of places) {
      server[fault] = true;
      if (fault === 'down') node.disconnect();
    }
    if (fault === 'down') for (const wire of wires) wire.broken();
    timeline.after(forMs, () => {
      trace(`${names} well again`);
      for (const { server, node } of places) {
        server[fault] = false;
        if (empty) node.forgetAll();
        if (fault === 'down') server.life = (server.life ?? 0) + 1;
      }
      if (fault === 'down') for (const wire of wires) wire.restored();
    });
  }

  #breakPath(pod: Pod, forMs: number): void {
    const { prng, timeline, trace } = this.world;
    const wire = prng.pick(pod.wires);
    const path = prng.pick(['cut', 'silent'] as const);
    trace(`${pod.process.name}: its way to ${wire.name} is ${path} for ${forMs.toFixed(1)} ms`);
    wire.link.path = path;
    if (path === 'cut') wire.broken();
    timeline.after(forMs, () => {
      wire.link.path = 'up';
      wire.restored();
    });
  }

  #kill(pod: Pod, forMs: number): void {
    const { pods, timeline, trace, boot } = this.world;
    trace(`${pod.process.name} dies`);
    pod.process.alive = false;
    timeline.after(forMs, () => {
      const place = pods.indexOf(pod);
      if (!this.#over && place >= 0) pods[place] = boot();
    });
  }
}
