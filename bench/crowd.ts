import { ChildProcess } from '../test/support/child-process.js';
import type { Contender } from './measure.js';
import type { Role } from './table.js';
import type { Turn } from './turn.js';

export interface WorkerSetup {
  /** Of the entrants it opens. */
  readonly ids: readonly string[];
  readonly urls: readonly string[];
  /** Whether it first sees to it that they exclude. */
  readonly proves: boolean;
}

export interface WorkerOrder {
  /** Which of those it opened. */
  readonly index: number;
  readonly waiters: number;
  readonly locks: number;
}

export interface Opened {
  readonly opened: readonly { readonly id: string; readonly name: string; readonly role: Role }[];
  readonly leftOut: readonly string[];
}

export interface Taken {
  /** What each lock took, in ms. */
  readonly taken: readonly number[];
}

const OPENING_MS = 60_000;
const TURN_MS = 600_000;

/** Processes that have the same contenders open, and let one of them contend when told to. */
export class Crowd {
  private constructor(
    private readonly workers: readonly ChildProcess[],
    private readonly found: Opened,
  ) {}

  static async start(processes: number, ids: readonly string[], urls: readonly string[]): Promise<Crowd> {
    const first = await startWorker({ ids, urls, proves: true });
    const found = await opened(first);
    const proven = found.opened.map(({ id }) => id);
    const others = await Promise.all(
      Array.from({ length: processes - 1 }, () => startWorker({ ids: proven, urls, proves: false })),
    );
    await Promise.all(others.map(opened));
    return new Crowd([first, ...others], found);
  }

  get leftOut(): readonly string[] {
    return this.found.leftOut;
  }

  contenders(waiters: number, locks: number): Contender[] {
    return this.found.opened.map(({ name, role }, index) => ({
      name,
      role,
      turn: () => run(this.workers, { index, waiters, locks }),
    }));
  }

  /** As many locks of the first contender with nobody in the way: no way of waiting can be faster. */
  floor(waiters: number, locks: number): Contender {
    const all = this.workers.length * waiters * locks;
    return {
      name: 'floor: bare pairs one after another',
      role: 'limit',
      turn: () => run(this.workers.slice(0, 1), { index: 0, waiters: 1, locks: all }),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
  }
}

async function startWorker(setup: WorkerSetup): Promise<ChildProcess> {
  return ChildProcess.start(new URL('./crowd-worker.ts', import.meta.url), { args: [JSON.stringify(setup)] });
}

function opened(worker: ChildProcess): Promise<Opened> {
  return worker.next<Opened>(undefined, OPENING_MS);
}

async function run(workers: readonly ChildProcess[], order: WorkerOrder): Promise<Turn> {
  const start = performance.now();
  for (const worker of workers) worker.send({ ...order });
  const answers = await Promise.all(workers.map((worker) => worker.next<Taken>(undefined, TURN_MS)));
  const times = answers.flatMap(({ taken }) => taken);
  return { times, perOperation: (performance.now() - start) / times.length, cpuUs: null };
}
