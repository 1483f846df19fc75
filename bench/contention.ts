import { setTimeout as sleep } from 'node:timers/promises';
import { ChildProcess } from '../test/support/child-process.js';
import type { Locker } from './locker.js';
import type { Contender } from './measure.js';

const KEY = 'bench:contended';

/** What a holder does: as short as a timer can be, so that the handover is what is measured. */
export async function hold(): Promise<void> {
  await sleep(1);
}

/** `waiters` callers at once, each of whom wants the key `locks` times. */
export async function contend(
  locker: Locker,
  waiters: number,
  locks: number,
  took: (ms: number) => void,
): Promise<void> {
  const caller = async (): Promise<void> => {
    for (let left = locks; left > 0; left--) {
      const start = performance.now();
      await locker.lock(KEY, hold);
      took(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: waiters }, caller));
}

export function inOneProcess(locker: Locker, waiters: number): Contender {
  return { name: locker.name, turn: (took) => contend(locker, waiters, 1, took) };
}

/** The same locks with nobody in the way: no way of waiting can be faster. */
export function floor(baseline: Locker, locks: number): Contender {
  return {
    name: 'floor: bare pairs one after another',
    turn: (took) => contend(baseline, 1, locks, took),
  };
}

export interface WorkerOrder {
  /** Which contender. */
  readonly index: number;
  readonly waiters: number;
  readonly locks: number;
}

interface Taken {
  /** What each lock took, in ms. */
  readonly taken: number[];
}

/** Processes that have all contenders open, and let one of them contend when told to. */
export class Crowd {
  private constructor(
    private readonly workers: readonly ChildProcess[],
    /** Of the contenders that run, the bare one first. */
    readonly names: readonly [string, ...string[]],
  ) {}

  static async start(processes: number, urls: readonly string[]): Promise<Crowd> {
    const worker = new URL('./contention-worker.ts', import.meta.url);
    const workers = await Promise.all(
      Array.from({ length: processes }, () => ChildProcess.start(worker, { args: [...urls] })),
    );
    const [first] = await Promise.all(workers.map((each) => each.next<{ names: [string, ...string[]] }>(isNames)));
    return new Crowd(workers, first!.names);
  }

  contender(index: number, waiters: number, locks: number): Contender {
    return { name: this.names[index]!, turn: (took) => this.#run(this.workers, { index, waiters, locks }, took) };
  }

  floor(locks: number): Contender {
    return {
      name: 'floor: bare pairs one after another',
      turn: (took) => this.#run(this.workers.slice(0, 1), { index: 0, waiters: 1, locks }, took),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
  }

  async #run(workers: readonly ChildProcess[], order: WorkerOrder, took: (ms: number) => void): Promise<void> {
    for (const worker of workers) worker.send({ ...order });
    const answers = await Promise.all(workers.map((worker) => worker.next<Taken>((message) => 'taken' in message)));
    for (const { taken } of answers) for (const ms of taken) took(ms);
  }
}

function isNames(message: object): boolean {
  return 'names' in message;
}
