import { setTimeout as sleep } from 'node:timers/promises';
import { ChildProcess } from '../../support/child-process.js';
import type { TcpProxy } from '../../support/tcp-proxy.js';
import {
  nowMs,
  type Entered,
  type HoldRecord,
  type Leftovers,
  type Order,
  type Report,
  type WorkerTerms,
} from './messages.js';

/** The ways from one worker to the servers, each of which can be cut. */
export interface Lines {
  readonly redis: readonly TcpProxy[];
  readonly postgres: TcpProxy;
}

const SILENCE_MS = 300_000;
const PATIENCE_MS = 20_000;
const REST_LIMIT_MS = 6000;
const LEAVE_LIMIT_MS = 6000;

/** A worker as its parent sees it: what it told, and what it is told to do. */
export class WorkerProcess {
  readonly entries: Entered[] = [];
  readonly holds: HoldRecord[] = [];
  readonly failures: { readonly at: number; readonly message: string }[] = [];
  readonly trouble: Extract<Report, { type: 'trouble' }>[] = [];
  leftovers: Leftovers = { timers: [] };
  killedAt: number | undefined;
  /** What was wrong with its end, if anything. */
  readonly wrong: string[] = [];
  #leaving = false;
  #waiting = new Set<() => void>();

  private constructor(
    readonly name: string,
    readonly lines: Lines,
    private readonly child: ChildProcess,
  ) {}

  static async start(lines: Lines, terms: Omit<WorkerTerms, 'nodes' | 'postgres'>): Promise<WorkerProcess> {
    const ways = {
      nodes: lines.redis.map((line) => line.url()),
      postgres: `postgres://postgres@127.0.0.1:${lines.postgres.port}/postgres`,
    };
    const env = { TERMS: JSON.stringify({ ...terms, ...ways }) };
    const child = await ChildProcess.start(new URL('./worker.ts', import.meta.url), { env });
    const worker = new WorkerProcess(terms.name, lines, child);
    await child.next<Report>(({ type }) => type === 'ready', 60_000);
    void worker.#listen();
    return worker;
  }

  get pid(): number {
    return this.child.pid;
  }

  get alive(): boolean {
    return this.child.running;
  }

  send(order: Order): void {
    this.child.send(order);
  }

  /** Resolves once the worker has told this. */
  async told<T extends 'holding' | 'awaiting' | 'unblocked'>(type: T): Promise<Extract<Report, { type: T }>> {
    return this.child.next<any>((report: Report) => report.type === type, PATIENCE_MS);
  }

  /** Resolves at the first entry after a time, with when it was; undefined if there is none in time. */
  async entryAfter(since: number, timeoutMs: number): Promise<number | undefined> {
    const find = (): number | undefined => this.entries.find(({ at }) => at > since)?.at;
    const limit = sleep(timeoutMs, undefined, { ref: false });
    for (let expired = false; !expired && find() === undefined;) {
      const change = new Promise<void>((resolve) => this.#waiting.add(resolve));
      expired = await Promise.race([change.then(() => false), limit.then(() => true)]);
    }
    return find();
  }

  freeze(): void {
    this.child.freeze();
  }

  thaw(): void {
    this.child.thaw();
  }

  async kill(): Promise<void> {
    this.#leaving = true;
    this.killedAt ??= nowMs();
    await this.child.kill();
  }

  /** Ends its work; says what it left behind. */
  async rest(): Promise<void> {
    this.send({ do: 'rest' });
    const answer = await this.#answer<Leftovers>('rest', REST_LIMIT_MS);
    if (answer) this.leftovers = answer;
    else this.wrong.push(`${this.name} does not come to rest: a lock is neither had nor refused`);
  }

  async leave(): Promise<void> {
    this.send({ do: 'leave' });
    const left = await this.#answer('leave', LEAVE_LIMIT_MS);
    this.#leaving = true;
    const limit = sleep(LEAVE_LIMIT_MS, undefined, { ref: false });
    const exit = left === undefined ? undefined : await Promise.race([this.child.exited, limit]);
    if (!exit) this.wrong.push(`${this.name} does not end by itself`);
    else if (exit.code !== 0) this.wrong.push(`${this.name} ended with ${exit.signal ?? exit.code}`);
  }

  async #answer<T>(order: Order['do'], limitMs: number): Promise<T | undefined> {
    const fits = (report: Report): boolean => report.type === 'done' && report.order === order;
    const done = await this.child.next<Report>(fits, limitMs).catch(() => undefined);
    return done?.type === 'done' ? ((done.answer ?? true) as T) : undefined;
  }

  async #listen(): Promise<void> {
    const isNews = ({ type }: Report): boolean => ['entered', 'hold', 'failure', 'trouble'].includes(type);
    try {
      for (;;) this.#hear(await this.child.next<Report>(isNews, SILENCE_MS));
    } catch {
      if (!this.#leaving)
        this.trouble.push({ type: 'trouble', kind: 'exception', message: `ended: ${this.child.output}` });
    }
  }

  #hear(report: Report): void {
    if (report.type === 'entered') this.entries.push(report.entered);
    if (report.type === 'hold') this.holds.push(report.hold);
    if (report.type === 'failure') this.failures.push(report);
    if (report.type === 'trouble') this.trouble.push(report);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}
