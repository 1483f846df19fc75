import type { Scenario } from './scenario.js';

const OURS = 'nestjs-fenced-lock: acquire, release';

/**
 * Everything the bench measures, in the order of docs/performance.md. To add a scenario: write a module whose function takes a `Setting` (scenario.ts) and returns
 * a `Table` (table.ts), and put an entry here. `npm run bench -- --only <name> --smoke` then shows whether it runs, and `--write` in place of `--smoke` measures it and puts its
 * figures into bench/results.json, its table into docs/performance.md and its chart into docs/charts/; test/docs/performance.spec.ts fails until that was done.
 * Counts go through `scaled(count, setting)` and `rounds(count, setting)` of scale.ts, and all but one of those that run the same code with other counts are marked `alike`: so
 * all of `--smoke`, which CI runs, takes a minute.
 */
export const SCENARIOS: readonly Scenario[] = [
  lone(1, 1.1),
  lone(3, 1.15),
  lone(5, 1.15),
  {
    name: 'lone-context',
    nodes: 1,
    targets: [{ row: 'nestjs-fenced-lock: @WithLock method', column: 'addedUs', most: 15 }],
    run: async (setting) => (await import('./uncontended.js')).loneWithContext(setting),
  },
  burst(1, 64, { least: 3, mostCpuUs: 15 }),
  burst(1, 1024, { least: 4, mostCpuUs: 15 }),
  burst(3, 64, { least: 6 }),
  burst(5, 64, { least: 6 }),
  burst(3, 1024),
  steady(1, 64),
  steady(3, 64),
  growth('used', 1),
  growth('used', 64),
  growth('held', 1),
  growth('held', 64),
  {
    name: 'contention',
    nodes: 1,
    alike: true,
    run: async (setting) => (await import('./contended.js')).oneProcess(setting),
  },
  {
    name: 'crowd',
    nodes: 1,
    run: async (setting) => (await import('./contended.js')).severalProcesses(setting),
  },
  ...[1, 4].flatMap((processes) => [2, 16, 64].map((callers) => handoff(processes, callers))),
  renewal(1000),
  renewal(10_000, 25),
  outage('dead'),
  outage('hung'),
  outage('slow'),
  {
    name: 'postgres-lone',
    postgres: true,
    targets: [{ row: OURS, column: 'ratio', most: 1.3 }],
    run: async (setting) => (await import('./postgres.js')).postgresLone(setting),
  },
  {
    name: 'postgres-steady',
    postgres: true,
    run: async (setting) => (await import('./postgres.js')).postgresSteady(setting),
  },
  {
    name: 'memory',
    run: async (setting) => (await import('./in-memory.js')).inMemory(setting),
  },
];

function lone(nodes: number, most: number): Scenario {
  return {
    name: `lone-${nodes}`,
    nodes,
    alike: nodes === 5,
    targets: [
      { row: OURS, column: 'ratio', most },
      { row: OURS, column: 'ratio', most: 'best peer' },
    ],
    run: async (setting) => (await import('./uncontended.js')).lone(setting),
  };
}

function burst(
  nodes: number,
  inFlight: number,
  { least, mostCpuUs }: { least?: number; mostCpuUs?: number } = {},
): Scenario {
  return {
    name: `burst-${nodes}-${inFlight}`,
    nodes,
    alike: nodes !== 3 || inFlight !== 64,
    targets: [
      ...(least === undefined ? [] : [{ row: OURS, column: 'speed', least }]),
      ...(mostCpuUs === undefined ? [] : [{ row: OURS, column: 'cpuUs', most: mostCpuUs }]),
    ],
    run: async (setting) => (await import('./uncontended.js')).burst(setting, inFlight),
  };
}

function steady(nodes: number, inFlight: number): Scenario {
  return {
    name: `steady-${nodes}-${inFlight}`,
    nodes,
    alike: nodes !== 1,
    run: async (setting) => (await import('./uncontended.js')).steady(setting, inFlight),
  };
}

/** Held against a FIFO on the server without anything that makes it safe. */
function handoff(processes: number, callers: number): Scenario {
  const most = { gap: 1.3, drain: 1.15, commands: 2.1, fairness: 1.2 };
  return {
    name: `handoff-${processes}-${callers}`,
    nodes: 1,
    alike: processes === 1 || callers !== 2,
    targets: Object.entries(most).map(([column, figure]) => ({ row: OURS, column, most: figure })),
    run: async (setting) => (await import('./handoff/handoff.js')).handoff(setting, processes, callers),
  };
}

/** Flat: a hundred times the keys cost a tenth more at most. */
function growth(of: 'used' | 'held', inFlight: number): Scenario {
  const most = 1.1;
  const meanwhile = of === 'used' ? 'used before' : 'held meanwhile';
  return {
    name: `growth-${of}-${inFlight}`,
    nodes: 1,
    alike: inFlight !== 64,
    targets: ['10,000', '100,000'].map((keys) => ({ row: `${keys} keys ${meanwhile}`, column: 'ratio', most })),
    run: async (setting) => (await import('./growth.js')).growth(setting, { of, inFlight }),
  };
}

/** Locks that are kept by renewal. */
function renewal(locks: number, mostScripts?: number): Scenario {
  const most = { cpuUs: 5, delayMs: 1, lost: 0, ...(mostScripts !== undefined && { scripts: mostScripts }) };
  return {
    name: `renewal-${locks}`,
    alike: locks > 1000,
    targets: Object.entries(most).map(([column, figure]) => ({ row: 'nestjs-fenced-lock', column, most: figure })),
    run: async (setting) => (await import('./renewal/renewal.js')).renewal(setting, locks),
  };
}

/** One of three nodes fails under load. */
function outage(fault: 'dead' | 'hung' | 'slow'): Scenario {
  const most = { ratio: 1.1, longestMs: 50, heapMb: 10 };
  const rows = ['nestjs-fenced-lock, nodes as URLs', "nestjs-fenced-lock, the user's clients"];
  return {
    name: `outage-${fault}`,
    alike: fault !== 'hung',
    targets: rows.flatMap((row) => [
      { row, column: 'grantedPercent', least: 100 },
      ...Object.entries(most).map(([column, figure]) => ({ row, column, most: figure })),
    ]),
    run: async (setting) => (await import('./outage/outage.js')).outage(setting, fault),
  };
}

export function scenarioOf(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name === name);
  if (!found) throw new Error(`there is no scenario called ${name}`);
  return found;
}
