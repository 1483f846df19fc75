import { setTimeout as sleep } from 'node:timers/promises';
import { LockBusyError, LockError } from '../../../lib/errors.js';
import type { LockManager } from '../../../lib/lock-manager.js';
import type { AuthorityState } from '../../../lib/stores/failover/authority.js';
import { Job } from './job.js';
import type { Ledger } from './ledger.js';
import { nowMs, type Failure, type Look, type Outcome, type PodHold } from './messages.js';

const WAIT = '300ms';
const LONG_WAIT = '30s';
const LOOK_EVERY_MS = 5;
const LONGEST_SHORT_JOB_MS = 30;
const LONGEST_PAUSE_MS = 20;

export interface JobWorld {
  held(hold: PodHold): void;
  failed(failure: Failure): void;
  /** What this process takes for the authority. */
  state(): AuthorityState | undefined;
}

/** The work of one pod: it takes locks, and under each reads a counter, takes its time, and writes the counter back, one higher. */
export class Jobs {
  #stopped = true;
  #loops: Promise<unknown> = Promise.resolve();
  /** The one that goes on for as long as the parent says. */
  #kept: Job | undefined;
  #watching: NodeJS.Timeout | undefined;

  constructor(
    private readonly locks: LockManager,
    private readonly ledger: Ledger,
    private readonly ttlMs: number,
    private readonly world: JobWorld,
  ) {}

  work(shortKeys: readonly string[], longKeys: readonly string[]): void {
    this.#stopped = false;
    this.#loops = Promise.all([
      ...shortKeys.map((key) => this.#repeat(key, () => Math.random() * LONGEST_SHORT_JOB_MS)),
      ...longKeys.map((key) => this.#repeat(key, () => Number.POSITIVE_INFINITY)),
    ]);
  }

  async rest(): Promise<void> {
    this.#stopped = true;
    await this.#loops;
  }

  async hold(key: string): Promise<number> {
    const job = (this.#kept = await this.#begin(key, LONG_WAIT));
    this.#watching = setInterval(() => job.look(), LOOK_EVERY_MS);
    return job.lock.fencingToken;
  }

  look(): Look {
    const { lock } = this.#kept!;
    const { held } = lock;
    let code: string | null = null;
    try {
      lock.assertHeld();
    } catch (error) {
      ({ code } = error as LockError);
    }
    return { held, told: lock.signal.aborted, code };
  }

  /** As code that has never heard of leases. */
  write(): Promise<Outcome> {
    return this.#kept!.write(() => true);
  }

  async release(): Promise<boolean> {
    clearInterval(this.#watching);
    const { hold, released } = await this.#kept!.end();
    this.world.held(hold);
    return released;
  }

  async #repeat(key: string, duration: () => number): Promise<void> {
    while (!this.#stopped) {
      await this.#attempt(key, duration());
      await sleep(Math.random() * LONGEST_PAUSE_MS);
    }
  }

  async #attempt(key: string, durationMs: number): Promise<void> {
    const startedAt = nowMs();
    let job: Job;
    try {
      job = await this.#begin(key, WAIT);
    } catch (error) {
      if (error instanceof LockBusyError) return;
      if (!(error instanceof LockError)) throw error;
      return this.world.failed({ key, startedAt, code: error.code, message: error.message });
    }
    while (job.look() && !this.#isOver(job.grantedAt + durationMs)) await sleep(LOOK_EVERY_MS);
    await job.write(() => job.hasTimeToWrite(this.ttlMs));
    this.world.held((await job.end()).hold);
  }

  async #begin(key: string, wait: '300ms' | '30s'): Promise<Job> {
    const startedAt = nowMs();
    const job = new Job(await this.locks.acquire(key, { wait }), this.ledger, startedAt, this.world.state());
    await job.read();
    return job;
  }

  #isOver(at: number): boolean {
    return at === Number.POSITIVE_INFINITY ? this.#stopped : nowMs() >= at;
  }
}
