import { ChildProcess } from '../../test/support/child-process.js';
import { admit, type Entrant } from '../entrant.js';
import { headStart } from '../head-start.js';
import type { Scale } from '../scale.js';
import type { Setting } from '../scenario.js';
import type { Row, Table } from '../table.js';
import { OUTAGE_ENTRANTS } from './entrants.js';
import { Trio, type Fault } from './fault.js';
import type { OutageMessage, OutageOrder } from './outage-process.js';

const WARM_UP_MS = 2000;
const HEALTHY_MS = 3000;
const OUTAGE_MS = 5000;
const SHORTEST_MS = 200;
/** For a contender to open, and for one spell. */
const LIMIT_MS = 60_000;

/** One of three nodes fails under load: each contender in a process of its own, on servers of its own, since some never work again. */
export async function outage(setting: Setting, fault: Fault): Promise<Table> {
  const measure = headStart(OUTAGE_ENTRANTS, (entrant) => meet(entrant, fault, setting), setting);
  const { admitted, leftOut } = await admit(OUTAGE_ENTRANTS, measure);
  return {
    title: `3 nodes, one of them ${WORDS[fault]}`,
    about:
      `16 lanes take and give back one key after another, no key twice, in a process of their own, for ${seconds(HEALTHY_MS)} while all is well, and then for ${seconds(OUTAGE_MS)} in which the third node is ${WORDS[fault]}. ` +
      "A lock is granted if it was taken and given back without an error, at the latest a second after the end. The longest includes those that have no answer by then. Clients have ioredis' own options; @redis-kit/lock brings node-redis. " +
      'Memory is what more is in use after than before, garbage collected each time.',
    columns: [
      { key: 'grantedPercent', head: 'granted %' },
      { key: 'ratio', head: 'p50, ratio to when all was well', digits: 2 },
      { key: 'medianMs', head: 'p50 ms', digits: 2 },
      { key: 'longestMs', head: 'longest ms' },
      { key: 'healthyLongestMs', head: 'longest ms when all was well' },
      { key: 'perSecond', head: 'granted per second' },
      { key: 'healthyPerSecond', head: 'per second when all was well' },
      { key: 'heapMb', head: 'heap, MB more', digits: 1 },
      { key: 'rssMb', head: 'resident, MB more', digits: 1 },
    ],
    rows: admitted,
    chart: { column: 'perSecond', better: 'higher' },
    leftOut,
  };
}

async function meet(entrant: Entrant, fault: Fault, { operations }: Pick<Scale, 'operations'>): Promise<Row> {
  const trio = await Trio.start(fault);
  const [warmUpMs, healthyMs, outageMs] = [WARM_UP_MS, HEALTHY_MS, OUTAGE_MS].map((ms) =>
    Math.max(SHORTEST_MS, ms * operations),
  ) as [number, number, number];
  const order: OutageOrder = { id: entrant.id, urls: trio.urls, warmUpMs, healthyMs, outageMs };
  const file = new URL('./outage-process.ts', import.meta.url);
  const child = await ChildProcess.start(file, { args: [JSON.stringify(order)] });
  try {
    const greeting = await child.next<OutageMessage>(undefined, LIMIT_MS);
    if ('refusal' in greeting) throw new Error(greeting.refusal);
    // The node fails under load, not before it.
    child.send('begin');
    await trio.befall(fault);
    return rowOf(entrant, await child.next<OutageMessage>(undefined, LIMIT_MS));
  } catch (error) {
    // What a crash prints is of no use in a table.
    throw entrant.peerName === undefined || child.running ? error : new Error('its process crashed');
  } finally {
    // Some cannot be closed any more.
    await child.kill();
    await trio.stop();
  }
}

function rowOf({ peerName }: Entrant, outcome: OutageMessage): Row {
  if (!('outage' in outcome)) throw new Error('no outcome');
  const { name, healthy, outage, heapMb, rssMb } = outcome;
  const { medianMs } = outage;
  return {
    name,
    role: peerName === undefined ? 'ours' : 'peer',
    figures: {
      grantedPercent: (outage.granted / outage.attempts) * 100,
      ratio: medianMs === null ? null : medianMs / healthy.medianMs!,
      medianMs,
      longestMs: outage.longestMs,
      healthyLongestMs: healthy.longestMs,
      perSecond: outage.perSecond,
      healthyPerSecond: healthy.perSecond,
      heapMb,
      rssMb,
    },
  };
}

const WORDS: Readonly<Record<Fault, string>> = { dead: 'dead', hung: 'hung', slow: 'answering 200 ms late' };

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
