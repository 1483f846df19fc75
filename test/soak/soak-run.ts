import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Prng } from '../simulation/prng.js';
import { ChildProcess } from '../support/child-process.js';
import { eventually } from '../support/eventually.js';
import { startRedisNodes, stopAll } from '../support/redis-server.js';
import { Audit, type Hold } from './audit.js';
import type { Sample } from './census.js';
import type { ContenderTerms } from './contender.js';
import { Faults, type Fault } from './faults.js';
import { growths } from './flatness.js';
import { openPlace, type Place, type StoreName } from './places.js';

export interface SoakResult {
  readonly holds: number;
  /** Of each process. */
  readonly holdsEach: readonly number[];
  readonly faults: ReadonlyMap<string, number>;
  readonly violations: readonly string[];
  /** First and last of the first process. */
  readonly samples: readonly Sample[];
}

const KEYS = ['a', 'b', 'c'];
const TTL_MS = 1000;
const LONGEST_SAMPLE_MS = 5000;
const SAMPLES = 12;
/** A contender may be silent for as long as its store is unwell. */
const SILENCE_MS = 120_000;

type Message = { hold: Hold } | { sample: Sample } | { warning: string } | { done: true } | { ready: true };

/** Processes contend for three keys on one kind of store, while its servers crash and hang, and so do they. */
export async function soak(name: StoreName, forMs: number, seed: number): Promise<SoakResult> {
  const [[ledger], place] = await Promise.all([startRedisNodes(1), openPlace(name)]);
  const contenders: ChildProcess[] = [];
  const counters = new Redis(ledger!.port, '127.0.0.1');
  let faults: Faults | undefined;
  try {
    for (let index = 0; index < place.processes; index++) {
      const terms: ContenderTerms = {
        ...{ store: place.terms, loops: place.loops, ledger: ledger!.url, keys: KEYS, ttlMs: TTL_MS },
        sampleMs: Math.min(LONGEST_SAMPLE_MS, forMs / SAMPLES),
        seed: seed + index + 1,
      };
      const env = { TERMS: JSON.stringify(terms) };
      contenders.push(await ChildProcess.start(new URL('./contender.ts', import.meta.url), { env }));
    }
    const records = contenders.map((contender) => new Record(contender));
    const told = Promise.all(records.map((record) => record.hear()));
    faults = new Faults([...place.faults, ...contenders.map(freezeContender)], new Prng(seed), TTL_MS);
    const befalling = faults.run();
    await Promise.race([sleep(forMs), told]);
    faults.end();
    await befalling;
    for (const contender of contenders) contender.send('stop');
    await told;
    const counted = await counters.mget(...KEYS);
    const audit = new Audit();
    for (const hold of records.flatMap(({ holds }) => holds)) audit.add(hold);
    return {
      holds: records.reduce((sum, { holds }) => sum + holds.length, 0),
      holdsEach: records.map(({ holds }) => holds.length),
      faults: faults.count,
      violations: [
        ...audit.violations(new Map(KEYS.map((key, index) => [key, Number(counted[index] ?? 0)]))),
        ...records.flatMap(({ samples, warnings }) => [...growths(samples), ...warnings]),
        ...(await leftovers(place)),
      ],
      samples: [records[0]!.samples[0], records[0]!.samples.at(-1)].filter((each) => each !== undefined),
    };
  } finally {
    faults?.end();
    await Promise.all(contenders.map((contender) => contender.kill()));
    counters.disconnect();
    await Promise.all([stopAll(ledger), place.stop()]);
  }
}

/** Takes down what one contender tells. */
class Record {
  readonly holds: Hold[] = [];
  readonly samples: Sample[] = [];
  readonly warnings: string[] = [];

  constructor(private readonly contender: ChildProcess) {}

  /** Until it is done; rejects, with its output, if it ends before. */
  async hear(): Promise<void> {
    for (;;) {
      const message = await this.contender.next<Message>(undefined, SILENCE_MS);
      if ('done' in message) return;
      if ('hold' in message) this.holds.push(message.hold);
      if ('sample' in message) this.samples.push(message.sample);
      if ('warning' in message) this.warnings.push(message.warning);
    }
  }
}

function freezeContender(contender: ChildProcess, index: number): Fault {
  return {
    name: `freeze process ${index}`,
    leastMs: 0,
    begin: async () => contender.freeze(),
    end: async () => contender.thaw(),
  };
}

/** What is still there when every lease is over. */
async function leftovers(place: Place): Promise<string[]> {
  let left: string[] = [];
  const empty = async (): Promise<void> => {
    left = await place.leftovers();
    if (left.length > 0) throw new Error(left.join());
  };
  await eventually(empty, { everyMs: 200 }).catch(() => undefined); // what was left is told below
  return left.map((what) => `left behind: ${what}`);
}
