import type { Setting } from './comparisons.js';
import { openBarePostgres, type BareOptions } from './bare-postgres.js';
import { proveExclusion } from './exclusion.js';
import { onKeysOf, type Locker } from './locker.js';
import { measure, type Contender, type Result } from './measure.js';
import { acquireAndRelease, openManager } from './ours.js';
import { postgres } from './package-under-test.js';
import { rounds, scaled } from './scale.js';
import { manyInFlight, oneAtATime } from './turns.js';

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

export async function postgresLone(setting: Setting): Promise<Result> {
  return compare(
    'Postgres, one at a time',
    'operation',
    setting,
    80,
    [threeStatements, twoStatements, ours],
    (locker) => oneAtATime(locker.name, scaled(200, setting), onKeysOf(locker)),
  );
}

export async function postgresThroughput(setting: Setting): Promise<Result> {
  const title = `Postgres, ${IN_FLIGHT} in flight on distinct keys`;
  return compare(title, 'turn', setting, 40, [threeStatements, twoStatements, pipelined, ours], (locker) =>
    manyInFlight(locker.name, scaled(1000, setting), IN_FLIGHT, onKeysOf(locker)),
  );
}

async function compare(
  title: string,
  ratioOf: Result['ratioOf'],
  setting: Setting,
  unscaledRounds: number,
  [baseline, ...others]: readonly [Open, ...Open[]],
  contender: (locker: Locker) => Contender,
): Promise<Result> {
  const lockers: Locker[] = [];
  const enter = async (open: Open): Promise<Contender> => {
    await proveExclusion(() => open(setting.postgresUrl));
    const locker = await open(setting.postgresUrl);
    lockers.push(locker);
    return contender(locker);
  };
  try {
    const first = await enter(baseline);
    const contenders: [Contender, ...Contender[]] = [first];
    for (const open of others) contenders.push(await enter(open));
    return await measure({
      title,
      operation: 'taking and giving back one lock that nobody else wants',
      rounds: rounds(unscaledRounds, setting),
      ratioOf,
      contenders,
    });
  } finally {
    await Promise.all(lockers.map((locker) => locker.close()));
  }
}
