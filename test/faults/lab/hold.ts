import { setTimeout as sleep } from 'node:timers/promises';
import type { Holding } from './adapter.js';
import type { Ledger } from './ledger.js';
import {
  GUARDS,
  nowMs,
  type Entered,
  type Guard,
  type HoldRecord,
  type Report,
  type Span,
  type Write,
} from './messages.js';

const WORK_MS = 20;
const LOOK_EVERY_MS = 5;
/** A look this late was kept from looking: by a pause of the process, or a blocked event loop. */
const LATE_MS = 60;
const SLOW_REPLY_S = 0.4;

export interface HoldOrders {
  readonly long: boolean;
  readonly slow: boolean;
  /** Resolves when a long one is to write. */
  readonly go: Promise<void>;
}

export const SHORT: HoldOrders = { long: false, slow: false, go: Promise.resolve() };

/** What a worker does under one lock: for each guard it reads a counter, waits, and writes it back, one higher. */
export class Hold {
  readonly entry = nowMs();
  #toldAt: number | null = null;
  #believed: [number, number][] = [[this.entry, this.entry]];
  #writes: Write[] = [];
  #exit = 0;

  constructor(
    private readonly worker: string,
    private readonly key: string,
    private readonly startedAt: number,
    private readonly holding: Holding,
    private readonly orders: HoldOrders,
    private readonly tell: (report: Report) => void,
  ) {
    tell({ type: 'entered', entered: this.#entered });
  }

  get toldAt(): number | null {
    return this.#toldAt;
  }

  /** Keeps the lock for so long and touches nothing. */
  async idle(ms: number): Promise<void> {
    this.holding.onLost(() => (this.#toldAt ??= nowMs()));
    await sleep(ms);
    this.#exit = nowMs();
  }

  async work(ledger: Ledger): Promise<void> {
    const told = new Promise<void>((resolve) => {
      this.holding.onLost(() => {
        this.#toldAt ??= nowMs();
        resolve();
      });
    });
    const looks = setInterval(() => this.#look(), LOOK_EVERY_MS);
    try {
      const guards = GUARDS.filter((guard) => guard === 'none' || this.holding.token !== undefined);
      const values = await Promise.all(guards.map((guard) => ledger.read(guard, this.#counter(guard), this.#writer)));
      if (this.orders.long) {
        this.tell({ type: 'holding' });
        await Promise.race([this.orders.go, told]);
      } else await sleep(WORK_MS);
      if (this.orders.slow) setTimeout(() => this.tell({ type: 'awaiting' }), (SLOW_REPLY_S * 1000) / 2);
      await Promise.all(guards.map((guard, index) => this.#write(ledger, guard, values[index])));
    } finally {
      clearInterval(looks);
      this.#look();
      this.#exit = nowMs();
    }
  }

  /** Once the lock is given back. */
  record(releaseError: string | null): HoldRecord {
    const { worker, key, startedAt, entry } = this;
    return {
      ...{ worker, key, startedAt, ...this.#entered, entry, exit: this.#exit },
      ...{ toldAt: this.#toldAt, believed: this.#believed as Span[], writes: this.#writes },
      ...{ releaseMs: nowMs() - this.#exit, releaseError },
    };
  }

  get #entered(): Entered {
    return { at: this.entry, token: this.holding.token ?? null, long: this.orders.long };
  }

  get #writer(): { token: number | null; entry: number } {
    return { token: this.holding.token ?? null, entry: this.entry };
  }

  #counter(guard: Guard): string {
    return `${this.key}:${guard}`;
  }

  /** Whether it has been told. It does not ask: what is measured is when the library tells by itself. */
  #look(): void {
    const at = nowMs();
    if (this.#toldAt !== null) return;
    const span = this.#believed.at(-1)!;
    if (at - span[1] > LATE_MS) this.#believed.push([at, at]);
    else span[1] = at;
  }

  async #write(ledger: Ledger, guard: Guard, value: number | undefined): Promise<void> {
    const at = nowMs();
    const held = this.holding.held();
    const done = (outcome: Write['outcome']): void => void this.#writes.push({ guard, held, at, outcome });
    if (value === undefined) return done('stale');
    // The claim has to do without the check: it is the one guard that claims to be enough.
    if (!held && guard !== 'claim') return done('refused');
    const meanwhile: Parameters<Ledger['write']>[4] = async (db) =>
      this.orders.slow && db.query('SELECT pg_sleep($1)', [SLOW_REPLY_S]);
    try {
      done(await ledger.write(guard, this.#counter(guard), this.#writer, value + 1, meanwhile));
    } catch (error) {
      done('failed');
      this.tell({ type: 'failure', at: nowMs(), message: `write: ${String(error)}` });
    }
  }
}
