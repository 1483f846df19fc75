import type { RedisServer } from '../../../support/redis-server.js';
import { course, onNodes, onSeveral, type Fault } from '../fault.js';
import type { Trial } from '../trial.js';

const LASTS_MS = 4000;
const OUTAGE_MS = 3000;
const SLOW_MS = 200;

interface Ill {
  readonly word: string;
  readonly title: string;
  begin(trial: Trial, nodes: readonly RedisServer[]): Promise<unknown> | void;
  end(trial: Trial, nodes: readonly RedisServer[]): Promise<unknown>;
}

const all = (work: (server: RedisServer) => Promise<void>, nodes: readonly RedisServer[]): Promise<unknown> =>
  Promise.all(nodes.map(work));

function eachLine(
  trial: Trial,
  nodes: readonly RedisServer[],
  work: (line: Trial['victim']['lines']['redis'][number]) => void,
): void {
  const indexes = nodes.map((node) => trial.servers.indexOf(node));
  for (const { lines } of trial.workers) for (const index of indexes) work(lines.redis[index]!);
}

const KILLED: Ill = {
  ...{ word: 'killed', title: 'killed, and comes back empty' },
  begin: (_, nodes) => all((server) => server.kill(), nodes),
  end: (_, nodes) => all((server) => server.restart(), nodes),
};
const HUNG: Ill = {
  ...{ word: 'hung', title: 'hung' },
  begin: (_, nodes) => nodes.forEach((server) => server.freeze()),
  end: async (_, nodes) => nodes.forEach((server) => server.thaw()),
};
const SILENT: Ill = {
  ...{ word: 'silent', title: 'behind a network that swallows everything' },
  begin: (trial, nodes) => eachLine(trial, nodes, (line) => line.blackhole()),
  end: (trial) => trial.pass(),
};
const SLOW: Ill = {
  ...{ word: 'slow', title: `slow by ${SLOW_MS} ms` },
  begin: (trial, nodes) => eachLine(trial, nodes, (line) => line.delay(SLOW_MS)),
  end: (trial) => trial.pass(),
};

function minority(ill: Ill): Fault {
  return {
    id: `node-${ill.word}`,
    title: `one node is ${ill.title}`,
    about: `for ${LASTS_MS / 1000} s; the others are well`,
    fits: onSeveral,
    limits: () => ['minority', 'overlap'],
    run: (trial) => befalls(trial, trial.servers.slice(0, 1), ill, false),
  };
}

function majority(ill: Ill): Fault {
  return {
    id: `majority-${ill.word}`,
    title: `most nodes are ${ill.title}`,
    about: `for ${LASTS_MS / 1000} s, while the lock is held: two of three, three of five, or the only one`,
    fits: onNodes,
    limits: ({ backend }) => (backend === 'both' ? ['overlap'] : ['deadline', 'healing']),
    run: (trial) => befalls(trial, trial.servers.slice(0, Math.ceil(trial.servers.length / 2)), ill, true),
  };
}

function befalls(trial: Trial, nodes: readonly RedisServer[], ill: Ill, held: boolean): Promise<void> {
  return course(trial, {
    held,
    begin: async () => void (await ill.begin(trial, nodes)),
    lastsMs: LASTS_MS,
    heal: () => ill.end(trial, nodes),
  });
}

/** What befalls Redis nodes that keep, or lose, what they know as a crash does. */
export const NODE_FAULTS: readonly Fault[] = [
  ...[KILLED, HUNG, SILENT, SLOW].map(minority),
  {
    id: 'two-of-five-killed',
    title: 'two of five nodes are killed',
    about: `for ${LASTS_MS / 1000} s`,
    fits: ({ nodes }) => nodes === 5,
    limits: () => ['minority', 'overlap'],
    run: (trial) => befalls(trial, trial.servers.slice(0, 2), KILLED, false),
  },
  ...[HUNG, SILENT].map(majority),
  {
    id: 'outage',
    title: 'all nodes are killed, and come back empty',
    about: `for ${OUTAGE_MS / 1000} s, while the lock is held`,
    fits: onNodes,
    limits: ({ backend }) => (backend === 'both' ? ['overlap'] : ['deadline', 'quarantine']),
    run: (trial) =>
      course(trial, {
        begin: async () => void (await KILLED.begin(trial, trial.servers)),
        lastsMs: OUTAGE_MS,
        heal: () => KILLED.end(trial, trial.servers),
      }),
  },
];
