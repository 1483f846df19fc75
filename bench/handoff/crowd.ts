import { ChildProcess } from '../../test/support/child-process.js';
import type { Entrant } from '../entrant.js';
import type { Role } from '../table.js';
import { now, type Use } from './use.js';

/** What a worker is told to do. */
export interface Order {
  readonly name: string;
  readonly key: string;
  readonly callers: number;
  readonly startsAt: number;
  readonly endsAt: number;
  /** Whether it is held for about 1 ms, as short as a timer can be; or given back at once. */
  readonly held: boolean;
  /** Whether everyone who still wants the key then gets it first. */
  readonly drains: boolean;
}

export interface WorkerSetup {
  readonly url: string;
  /** Of the entrants it opens. */
  readonly ids: readonly string[];
  /** Whether it first sees to it that they exclude. */
  readonly proves: boolean;
}

export interface WorkerReady {
  readonly opened: readonly { readonly name: string; readonly role: Role }[];
  readonly leftOut: readonly string[];
}

type Answer = { readonly uses: Use[] } | { readonly error: string };

/** Time for an order to reach every process. */
const SOON_MS = 30;
const OPENING_MS = 60_000;
/** A busy machine may be late. */
const LATE_MS = 10_000;

/** Processes that have the same contenders open, and let one of them contend when told to. */
export class HandoffCrowd {
  private constructor(
    private readonly workers: readonly ChildProcess[],
    private readonly ready: WorkerReady,
  ) {}

  static async start(processes: number, url: string, entrants: readonly Entrant[]): Promise<HandoffCrowd> {
    const ids = entrants.map(({ id }) => id);
    const first = await startWorker({ url, ids, proves: true });
    const ready = await first.next<WorkerReady>(undefined, OPENING_MS);
    const others = await Promise.all(
      Array.from({ length: processes - 1 }, () => startWorker({ url, ids, proves: false })),
    );
    await Promise.all(others.map((worker) => worker.next(undefined, OPENING_MS)));
    return new HandoffCrowd([first, ...others], ready);
  }

  get contenders(): WorkerReady['opened'] {
    return this.ready.opened;
  }

  get leftOut(): readonly string[] {
    return this.ready.leftOut;
  }

  /** All uses of the key, in the order in which they began. */
  async contend(name: string, callers: number, forMs: number, { held = true, drains = false } = {}): Promise<Use[]> {
    const each = Math.ceil(callers / this.workers.length);
    const startsAt = now() + SOON_MS;
    // A new key for each turn: some of the last one may still want theirs.
    const key = `bench:handoff:${name}:${startsAt}`;
    const order: Order = { name, key, callers: each, startsAt, endsAt: startsAt + forMs, held, drains };
    const busy = this.workers.slice(0, callers / each);
    for (const worker of busy) worker.send({ ...order });
    const answers = await Promise.all(busy.map((worker) => worker.next<Answer>(undefined, forMs + LATE_MS)));
    const uses = answers.flatMap((answer, index) => {
      if ('error' in answer) throw new Error(`${name}: ${answer.error}`);
      return answer.uses.map((use) => ({ ...use, who: index * each + use.who }));
    });
    return uses.sort((a, b) => a.takenAt - b.takenAt);
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
  }
}

async function startWorker(setup: WorkerSetup): Promise<ChildProcess> {
  return ChildProcess.start(new URL('./worker.ts', import.meta.url), { args: [JSON.stringify(setup)] });
}
