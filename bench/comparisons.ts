import { Crowd, floor, inOneProcess } from './contention.js';
import { inMemory } from './in-memory.js';
import { onKeysOf, type Locker } from './locker.js';
import { openLockers } from './lockers.js';
import { measure, type Contender, type Result } from './measure.js';
import { rounds, scaled, type Scale } from './scale.js';
import { manyInFlight, oneAtATime } from './turns.js';

export interface Setting extends Scale {
  /** Of the Redis nodes. */
  readonly urls: readonly string[];
  readonly postgresUrl: string;
  readonly skipped: (line: string) => void;
}

const IN_FLIGHT = 100;
const WAITERS = 50;
const PROCESSES = 3;

/** Without `withLock`: its first call makes Node 20 follow every promise of the process for AsyncLocalStorage, which slows all contenders, and ours most. */
export async function lone(setting: Setting): Promise<Result> {
  return uncontended('1 node, one at a time', setting, 1, 80, lonely(setting), ({ usesContext }) => !usesContext);
}

export async function loneWithContext(setting: Setting): Promise<Result> {
  return uncontended('1 node, one at a time, with AsyncLocalStorage in use', setting, 1, 80, lonely(setting));
}

function lonely(setting: Setting): (locker: Locker) => Contender {
  return (locker) => oneAtATime(locker.name, scaled(200, setting), onKeysOf(locker));
}

export async function three(setting: Setting): Promise<Result> {
  return uncontended('3 nodes, one at a time', setting, 3, 40, (locker) =>
    oneAtATime(locker.name, scaled(100, setting), onKeysOf(locker)),
  );
}

export async function throughput(setting: Setting, nodes: number): Promise<Result> {
  const title = `${nodes} ${nodes === 1 ? 'node' : 'nodes'}, ${IN_FLIGHT} in flight on distinct keys`;
  return uncontended(title, setting, nodes, 30, (locker) =>
    manyInFlight(locker.name, scaled(1000, setting), IN_FLIGHT, onKeysOf(locker)),
  );
}

export async function contention(setting: Setting): Promise<Result> {
  const { lockers, close } = await openLockers({ urls: setting.urls.slice(0, 1), waits: true }, setting.skipped);
  try {
    const waiters = scaled(WAITERS, setting);
    return await measure({
      title: `1 node, ${waiters} callers of one process wait for one key`,
      operation: 'waiting for, taking, holding for about 1 ms, and giving back one lock',
      rounds: rounds(10, setting),
      ratioOf: 'turn',
      contenders: [floor(lockers[0], waiters), ...lockers.map((locker) => inOneProcess(locker, waiters))],
    });
  } finally {
    await close();
  }
}

export async function crowd(setting: Setting): Promise<Result> {
  const workers = await Crowd.start(PROCESSES, setting.urls.slice(0, 1));
  try {
    const [waiters, locks] = [5, scaled(4, setting)];
    return await measure({
      title: `1 node, ${PROCESSES} processes of ${waiters} callers wait for one key`,
      operation: 'waiting for, taking, holding for about 1 ms, and giving back one lock',
      rounds: rounds(10, setting),
      ratioOf: 'turn',
      contenders: [
        workers.floor(PROCESSES * waiters * locks),
        ...workers.names.map((_, index) => workers.contender(index, waiters, locks)),
      ],
    });
  } finally {
    await workers.stop();
  }
}

export async function memory(setting: Setting): Promise<Result> {
  const { contenders, close } = await inMemory(scaled(50, setting));
  try {
    return await measure({
      title: 'No network: MemoryStore',
      operation: 'one call of a method, or one lock taken and given back',
      rounds: rounds(50, setting),
      ratioOf: 'operation',
      contenders,
    });
  } finally {
    await close();
  }
}

async function uncontended(
  title: string,
  setting: Setting,
  nodes: number,
  unscaledRounds: number,
  contender: (locker: Locker) => Contender,
  takesPart: (locker: Locker) => boolean = () => true,
): Promise<Result> {
  const { lockers, close } = await openLockers({ urls: setting.urls.slice(0, nodes), waits: false }, setting.skipped);
  try {
    const [baseline, ...others] = lockers;
    return await measure({
      title,
      operation: 'taking and giving back one lock that nobody else wants',
      rounds: rounds(unscaledRounds, setting),
      ratioOf: title.includes('in flight') ? 'turn' : 'operation',
      contenders: [contender(baseline), ...others.filter(takesPart).map(contender)],
    });
  } finally {
    await close();
  }
}
