import { CommitlessNode, CounterNode, MaximumCommitNode, OwnerlessCommitNode } from './broken-nodes.js';
import type { Conditions } from './conditions.js';

export interface Scenario extends Conditions {
  readonly name: string;
  /** What the test that runs with all others asks for. */
  readonly runs: number;
}

const calm = { expiry: 'any', amnesia: false, quarantine: false, skewMs: 'wild' } as const;
const stormy = { ...calm, storm: true } as const;
const amnesic = { ...calm, amnesia: true } as const;
const honest = { ...calm, expiry: 'honest' } as const;

function sized(name: string, runs: number, conditions: Omit<Conditions, 'nodes'>, sizes = [1, 3, 5]): Scenario[] {
  return sizes.map((nodes) => ({ name: `${name}, ${nodes} nodes`, nodes, runs, ...conditions }));
}

/** The protocol as it is: not one violation. */
export const SOUND: readonly Scenario[] = [
  ...sized('expiry at any time', 300, calm),
  ...sized('storm', 300, stormy, [3, 5]),
  ...sized('amnesia with exact clocks', 100, { ...amnesic, skewMs: 0 }),
  ...sized('amnesia with clocks off by 1 ms', 100, { ...amnesic, skewMs: 1 }),
  ...sized('amnesia with clocks off by 20 ms', 100, { ...amnesic, skewMs: 20 }),
  ...sized('leases', 200, honest),
  ...sized('leases with amnesia and quarantine', 200, { ...honest, amnesia: true, quarantine: true, skewMs: 5 }),
  // What the variants below have in common is not what breaks them.
  ...sized('plain counter without amnesia', 200, { ...stormy, Node: CounterNode }, [3, 5]),
];

/** With one part of the protocol, or of its conditions, taken away: violations, or the check is worth nothing. */
export const BROKEN: readonly Scenario[] = [
  ...sized('INCR on each node and the maximum at the client', 100, { ...stormy, Node: CommitlessNode }, [3]),
  ...sized('commit without the owner check', 400, { ...stormy, Node: OwnerlessCommitNode }, [3]),
  ...sized('commit that takes the maximum', 1500, { ...stormy, Node: MaximumCommitNode }, [3]),
  ...sized('plain counter under amnesia', 100, { ...amnesic, skewMs: 1, Node: CounterNode }),
  ...sized('amnesia with clocks off by more than was said', 100, {
    ...{ ...amnesic, skewMs: 400 },
    claimed: { risingAfterMs: 4 },
  }),
  ...sized('amnesia without quarantine', 100, { ...honest, amnesia: true, skewMs: 5, claimed: { exclusive: true } }),
];
