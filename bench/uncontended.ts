import { admit, openProven, type Entrant } from './entrant.js';
import { BARE_PAIR, LIMITS, OURS, OURS_WITH_CONTEXT } from './entrants.js';
import { Guest } from './guest.js';
import { onKeysOf, type Locker, type LockerOptions } from './locker.js';
import { measure, type Comparison, type Contender } from './measure.js';
import { PEERS } from './peers.js';
import { scaled } from './scale.js';
import type { Setting } from './scenario.js';
import type { Table } from './table.js';
import { planned, type TurnPlan } from './turns.js';

/** Takes keys that nobody else wants, one after another. */
export async function lone(setting: Setting): Promise<Table> {
  const nodes = setting.urls.length;
  return compare(setting, [BARE_PAIR, OURS, ...PEERS], {
    title: `One at a time, ${plural(nodes)}`,
    plan: { count: scaled(nodes === 1 ? 200 : 100, setting), inFlight: 1 },
    rounds: nodes === 1 ? 80 : 60,
    columns: ['ratio', 'ratioQuartiles', 'medianUs', 'p95Us', 'perSecond'],
  });
}

/** With `withLock` and `@WithLock`, whose first call makes Node 20 follow every promise of the process, which slows all contenders. */
export async function loneWithContext(setting: Setting): Promise<Table> {
  return compare(setting, [BARE_PAIR, OURS, ...OURS_WITH_CONTEXT, ...PEERS], {
    title: 'One at a time, 1 node, with AsyncLocalStorage in use',
    remark: '*µs more* counts from `acquire, release` of the same round.',
    plan: { count: scaled(200, setting), inFlight: 1 },
    rounds: 80,
    columns: ['ratio', 'ratioQuartiles', 'medianUs', 'p95Us', 'addedUs'],
    addedTo: 'nestjs-fenced-lock: acquire, release',
    together: true,
  });
}

/** Takes many distinct keys at once, again and again. */
export async function burst(setting: Setting, inFlight: number): Promise<Table> {
  return many(setting, inFlight, `${inFlight.toLocaleString('en-US')} at once, ${plural(setting.urls.length)}`);
}

/** Takes as many distinct keys at any time: the next as soon as one is given back. */
export async function steady(setting: Setting, inFlight: number): Promise<Table> {
  return many(setting, inFlight, `${inFlight} in flight all the time, ${plural(setting.urls.length)}`, true);
}

async function many(setting: Setting, inFlight: number, title: string, steady = false): Promise<Table> {
  const few = inFlight < 256;
  return compare(setting, [BARE_PAIR, ...LIMITS, OURS, ...PEERS], {
    title,
    plan: { count: scaled(few ? 1024 : 4096, setting), inFlight: scaled(inFlight, setting), steady },
    rounds: few ? 30 : 12,
    ...(few ? {} : { warmUp: 4 }),
    ratioOf: 'turn',
    columns: ['speed', 'speedQuartiles', 'perSecond', 'cpuUs', 'medianUs', 'p95Us'],
  });
}

type Terms = Pick<Comparison, 'title' | 'remark' | 'rounds' | 'warmUp' | 'columns' | 'addedTo'> & {
  readonly plan: TurnPlan;
  readonly ratioOf?: Comparison['ratioOf'];
  /** All in this process, also those that slow it down for the others. */
  readonly together?: boolean;
};

async function compare(setting: Setting, entrants: readonly Entrant[], terms: Terms): Promise<Table> {
  const { plan, ratioOf = 'operation', together = false, ...rest } = terms;
  const options: LockerOptions = { urls: setting.urls, waits: false };
  const closing: (() => Promise<void>)[] = [];
  const enterHere = async (entrant: Entrant): Promise<Contender> => {
    const locker = await openProven(entrant, options);
    closing.push(locker.close);
    return contender(locker, plan);
  };
  const enterApart = async ({ id }: Entrant): Promise<Contender> => {
    const guest = await Guest.start({ id, options, plan });
    closing.push(() => guest.stop());
    return guest;
  };
  try {
    const { admitted, leftOut } = await admit(entrants, (entrant) =>
      entrant.usesContext && !together ? enterApart(entrant) : enterHere(entrant),
    );
    const operation = 'taking and giving back one lock that nobody else wants';
    return await measure({ operation, ratioOf, contenders: admitted, leftOut, ...rest }, setting);
  } finally {
    await Promise.all(closing.map((close) => close()));
  }
}

function contender(locker: Locker, plan: TurnPlan): Contender {
  return { name: locker.name, role: locker.role, turn: planned(plan, onKeysOf(locker)) };
}

function plural(nodes: number): string {
  return nodes === 1 ? '1 node' : `${nodes} nodes`;
}
