import { openBarePostgres, type BareOptions } from './bare/bare-postgres.js';
import { admit, openProven, type Entrant } from './entrant.js';
import { onKeysOf, type Locker } from './locker.js';
import { measure, type Comparison, type Contender } from './measure.js';
import { acquireAndRelease, openManager } from './ours.js';
import { postgres } from './package-under-test.js';
import { scaled } from './scale.js';
import type { Setting } from './scenario.js';
import type { Table } from './table.js';
import { planned, type TurnPlan } from './turns.js';

const IN_FLIGHT = 64;

type Open = (url: string) => Promise<Locker>;

const bare =
  (options: BareOptions): Open =>
  (url) =>
    openBarePostgres(url, options);

const threeStatements = bare({ name: 'bare: advisory lock, token, unlock' });
const twoStatements = bare({ name: 'bare, lock and token in one statement', joined: true });
const pipelined = bare({ name: 'bare, pipelined', pipeline: true });
const ours: Open = async (url) => acquireAndRelease(await openManager({ store: postgres(url) }), { waits: false });

export async function postgresLone(setting: Setting): Promise<Table> {
  return compare(setting, [threeStatements, twoStatements, ours], {
    title: 'Postgres, one at a time',
    ratioOf: 'operation',
    rounds: 80,
    plan: { count: scaled(200, setting), inFlight: 1 },
  });
}

export async function postgresSteady(setting: Setting): Promise<Table> {
  return compare(setting, [threeStatements, twoStatements, pipelined, ours], {
    title: `Postgres, ${IN_FLIGHT} in flight all the time`,
    ratioOf: 'turn',
    rounds: 40,
    plan: { count: scaled(1000, setting), inFlight: IN_FLIGHT, steady: true },
  });
}

type Terms = Pick<Comparison, 'title' | 'ratioOf' | 'rounds'> & { readonly plan: TurnPlan };

async function compare(setting: Setting, all: readonly Open[], terms: Terms): Promise<Table> {
  const { plan, ...rest } = terms;
  const closing: (() => Promise<void>)[] = [];
  const enter = async (entrant: Entrant): Promise<Contender> => {
    const locker = await openProven(entrant, { urls: [], waits: false });
    closing.push(locker.close);
    return { name: locker.name, role: locker.role, turn: planned(plan, onKeysOf(locker)) };
  };
  try {
    const entrants = all.map((open, index) => ({ id: String(index), open: () => open(setting.postgresUrl) }));
    const { admitted } = await admit(entrants, enter);
    return await measure(
      {
        ...rest,
        operation: 'taking and giving back one lock that nobody else wants',
        columns: ['ratio', 'ratioQuartiles', 'medianUs', 'p95Us', 'perSecond', 'cpuUs'],
        contenders: admitted,
      },
      setting,
    );
  } finally {
    await Promise.all(closing.map((close) => close()));
  }
}
