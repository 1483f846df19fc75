import {
  CommitlessNode,
  CounterNode,
  HealingRenewalNode,
  InheritedTurnNode,
  KeepingNode,
  OwnerlessReleaseNode,
} from '../../stores/redis/simulation/broken-nodes.js';
import { LateTurns } from './watched-turns.js';
import { clinging, LateLock, losingTimers, slowTimers, type Variant } from './variants.js';

export interface Scenario extends Variant {
  readonly name: string;
  /** How many nodes; by default as many as the seed says. */
  readonly nodes?: number;
  /** What the test that runs with all others asks for. 0: it shows too rarely for that. */
  readonly runs: number;
}

/** The code as it is: not one violation. */
export const SOUND: readonly Scenario[] = [
  { name: 'manager on one Redis', nodes: 1, runs: 400 },
  { name: 'manager on three nodes', nodes: 3, runs: 100 },
  { name: 'manager on five nodes', nodes: 5, runs: 50 },
  // What the first variant below shares with this one is not what breaks it.
  { name: 'manager with plain counters, without amnesia', nodes: 3, runs: 40, amnesia: false, Node: CounterNode },
];

/** With one part taken away: violations, or the check is worth nothing. */
export const BROKEN: readonly Scenario[] = [
  { name: 'manager, INCR and maximum', nodes: 3, runs: 400, amnesia: false, Node: CommitlessNode },
  { name: 'manager, healing that counts as a renewal', runs: 0, Node: HealingRenewalNode },
  {
    name: 'manager, validity from after the reply',
    runs: 200,
    seen: (lock, ttlMs, process) => new LateLock(lock, ttlMs, process),
  },
  { name: 'manager without quarantine', runs: 200, quarantine: false },
  { name: 'manager, release without the owner check', runs: 100, Node: OwnerlessReleaseNode },
  { name: 'manager, turns that count from when they are taken', nodes: 1, runs: 400, Turns: LateTurns },
  { name: 'manager, turns as long as another wanted them', nodes: 1, runs: 400, Node: InheritedTurnNode },
  { name: 'manager with late timers', runs: 100, runtime: slowTimers },
  { name: 'manager with lost timers', runs: 100, runtime: losingTimers },
  { name: 'manager, kept keys without a ttl', runs: 100, Node: KeepingNode },
  { name: 'manager, listeners that stay', runs: 100, node: clinging },
];
