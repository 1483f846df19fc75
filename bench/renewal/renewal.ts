import { setTimeout as sleep } from 'node:timers/promises';
import { ChildProcess } from '../../test/support/child-process.js';
import { RedisServer } from '../../test/support/redis-server.js';
import { admit } from '../entrant.js';
import { headStart } from '../head-start.js';
import { scaled } from '../scale.js';
import type { Setting } from '../scenario.js';
import type { Row, Table } from '../table.js';
import { KEEPER_ENTRANTS } from './entrants.js';
import type { KeeperEntrant } from './keeper.js';
import type { KeeperAnswer, KeeperOrder } from './keeper-process.js';
import { ServerView } from './server-view.js';

const TTL_MS = 5000;
/** Less than that is not enough for those who renew a second before the end. */
const SHORTEST_TTL_MS = 1500;
const IDLE_MS = 3000;
const CPU_MS = 10_000;
const DELAY_MS = 5000;
/** In which all code comes to be compiled as it is in a process that has run for long: many renewals of short leases. */
const WARM_UP_MS = 6000;
const WARM_UP_LOCKS = 2000;
const LIMIT_MS = 120_000;

/** So many locks are kept on one node, by each keeper in a process and on a server of its own. */
export async function renewal(setting: Setting, count: number): Promise<Table> {
  const plan = planOf(setting, count);
  const measure = headStart(KEEPER_ENTRANTS, (entrant) => measured(entrant, plan), setting);
  const { admitted, leftOut } = await admit(KEEPER_ENTRANTS, measure);
  return {
    title: `1 node, ${count.toLocaleString('en-US')} locks kept by renewal`,
    about:
      `Each keeper holds so many locks with a ttl of ${TTL_MS / 1000} s in a process of its own, ${CPU_MS / 1000} s of which are measured after it has warmed up on shorter ones. ` +
      'CPU is what the process computed beyond what it did before, idle, with the same connections; extensions are counted by the server, scripts are what it was sent. The delay of the event loop is its p99, beyond that of the idle process. ' +
      'Lost are locks that are gone on the server or known to be. The limits and ours renew three times per ttl, the others as late as they do by themselves: shortly before the end.',
    columns: [
      { key: 'cpuUs', head: 'CPU µs per extension' },
      { key: 'extensions', head: 'extensions per second' },
      { key: 'scripts', head: 'scripts per second' },
      { key: 'delayMs', head: 'event loop p99, ms more', digits: 2 },
      { key: 'idleDelayMs', head: 'idle p99 ms', digits: 2 },
      { key: 'lost', head: 'lost' },
    ],
    rows: admitted,
    chart: { column: 'cpuUs', better: 'lower' },
    leftOut,
  };
}

interface Plan {
  readonly count: number;
  readonly ttlMs: number;
  readonly warmUpLocks: number;
  readonly warmUpMs: number;
  readonly idleMs: number;
  readonly cpuMs: number;
  readonly delayMs: number;
}

function planOf({ operations }: Pick<Setting, 'operations'>, count: number): Plan {
  const ttlMs = Math.max(SHORTEST_TTL_MS, TTL_MS * operations);
  return {
    count: scaled(count, { operations }),
    ttlMs,
    warmUpLocks: scaled(WARM_UP_LOCKS, { operations }),
    warmUpMs: WARM_UP_MS * operations,
    idleMs: IDLE_MS * operations,
    // Everybody renews within a ttl.
    cpuMs: Math.max(ttlMs, CPU_MS * operations),
    delayMs: DELAY_MS * operations,
  };
}

async function measured({ id, peerName }: KeeperEntrant, plan: Plan): Promise<Row> {
  const server = await RedisServer.start();
  const file = new URL('./keeper-process.ts', import.meta.url);
  const child = await ChildProcess.start(file, { args: [id, server.url] });
  const view = await ServerView.open(server.url);
  const hear = async <T extends KeeperAnswer>(): Promise<T> => {
    const answer = await child.next<KeeperAnswer>(undefined, LIMIT_MS);
    if ('refusal' in answer) throw new Error(answer.refusal);
    return answer as T;
  };
  const tell = async (order: KeeperOrder): Promise<number> => {
    child.send(order);
    return (await hear<{ figure: number }>()).figure;
  };
  try {
    const { name, role } = await hear<Pick<Row, 'name' | 'role'>>();
    await sleep(plan.idleMs / 3);
    const idleCpu = await tell({ do: 'take cpu', ms: plan.idleMs });
    const idleDelayMs = await tell({ do: 'take delay', ms: plan.idleMs });
    await tell({ do: 'keep', count: plan.warmUpLocks, ttlMs: SHORTEST_TTL_MS });
    await sleep(plan.warmUpMs);
    await tell({ do: 'let go' });
    await tell({ do: 'keep', count: plan.count, ttlMs: plan.ttlMs });
    await sleep(plan.ttlMs);
    const before = await view.count();
    const cpu = await tell({ do: 'take cpu', ms: plan.cpuMs });
    const after = await view.count();
    const delayMs = await tell({ do: 'take delay', ms: plan.delayMs });
    const lost = Math.max(await tell({ do: 'count lost' }), plan.count - (await view.locks()));
    const extensions = ((after.extensions - before.extensions) * 1000) / plan.cpuMs;
    return {
      name,
      role,
      figures: {
        cpuUs: extensions > 0 ? (cpu - idleCpu) / extensions : null,
        extensions,
        scripts: ((after.scripts - before.scripts) * 1000) / plan.cpuMs,
        delayMs: delayMs - idleDelayMs,
        idleDelayMs,
        lost,
      },
    };
  } catch (error) {
    // What a crash prints is of no use in a table.
    throw peerName === undefined || child.running ? error : new Error('its process crashed');
  } finally {
    view.close();
    await child.kill();
    await server.stop();
  }
}
