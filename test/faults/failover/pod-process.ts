import { setTimeout as sleep } from 'node:timers/promises';
import type { AuthorityChange } from '../../../lib/stores/failover/failover.options.js';
import type { AuthorityState } from '../../../lib/stores/failover/authority.js';
import { ChildProcess } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import type { Exit } from '../../support/managed-process.js';
import type { TcpProxy } from '../../support/tcp-proxy.js';
import { nowMs, type Failure, type Order, type PodHold, type PodTerms, type Report } from './messages.js';

/** The ways from one pod to the servers, each of which can be cut. */
export interface Lines {
  readonly redis: readonly TcpProxy[];
  readonly postgres: TcpProxy;
}

export interface SeenChange extends AuthorityChange {
  readonly at: number;
}

const PATIENCE = { timeoutMs: 90_000, everyMs: 20 };
/** A pod may have nothing to tell for as long as nobody gets a lock. */
const SILENCE_MS = 300_000;
const LEAVE_LIMIT_MS = 60_000;

/** A pod as its parent sees it: what it told, and what it is told to do. */
export class PodProcess {
  readonly holds: PodHold[] = [];
  readonly failures: Failure[] = [];
  readonly changes: SeenChange[] = [];
  readonly log: string[] = [];
  #leaving = false;
  #crash: Error | undefined;

  private constructor(
    readonly name: string,
    readonly lines: Lines,
    private readonly child: ChildProcess,
  ) {}

  static async start(name: string, lines: Lines, terms: Omit<PodTerms, 'nodes' | 'postgres'>): Promise<PodProcess> {
    const { postgres, redis } = lines;
    const all: PodTerms = {
      ...terms,
      nodes: redis.map((line) => line.url()),
      postgres: `postgres://postgres@127.0.0.1:${postgres.port}/postgres`,
    };
    const child = await ChildProcess.start(new URL('./pod.ts', import.meta.url), {
      env: { TERMS: JSON.stringify(all) },
    });
    const pod = new PodProcess(name, lines, child);
    void pod.#listen();
    await child.next<Report>(({ type }) => type === 'ready', PATIENCE.timeoutMs);
    return pod;
  }

  /** What it takes for the authority. */
  get state(): AuthorityState | undefined {
    return this.changes.at(-1)?.to;
  }

  holdsSince(at: number): PodHold[] {
    return this.holds.filter(({ startedAt }) => startedAt > at);
  }

  failuresSince(at: number): Failure[] {
    return this.failures.filter(({ startedAt }) => startedAt > at);
  }

  send(order: Order): void {
    this.child.send(order);
  }

  async done<T>(order: Order['do']): Promise<T> {
    type Done = Extract<Report, { type: 'done' }>;
    const fits = (report: Report): boolean => report.type === 'done' && report.order === order;
    return (await this.child.next<Done>(fits as never, PATIENCE.timeoutMs)).answer as T;
  }

  async obey<T = void>(order: Order): Promise<T> {
    this.send(order);
    return this.done<T>(order.do);
  }

  /** Repeats the look until it is true. Fails at once if the process has ended. */
  async until(what: string, isSo: (pod: this) => boolean): Promise<void> {
    const say = (): string =>
      `${this.name}: not ${what}; ${this.state}, ${this.holds.length} holds, log:\n${this.log.join('\n')}`;
    await eventually(() => {
      if (this.#crash) return;
      if (!isSo(this)) throw new Error(say());
    }, PATIENCE);
    if (this.#crash) throw this.#crash;
  }

  freeze(): void {
    this.child.freeze();
  }

  thaw(): void {
    this.child.thaw();
  }

  async kill(): Promise<void> {
    this.#leaving = true;
    await this.child.kill();
  }

  /** Ends it as an orchestrator wishes it: by itself. Says what is wrong with its end. */
  async leave(): Promise<string[]> {
    await this.obey({ do: 'leave' });
    this.#leaving = true;
    const limit = sleep(LEAVE_LIMIT_MS, undefined, { ref: false });
    const exit: Exit | undefined = await Promise.race([this.child.exited, limit]);
    if (!exit) return [`${this.name} does not end: something keeps it alive`];
    const wrong = exit.code === 0 ? [] : [`${this.name} ended with ${exit.signal ?? exit.code}`];
    return this.child.output === '' ? wrong : [...wrong, `${this.name} wrote: ${this.child.output}`];
  }

  /** Takes down what it tells. */
  async #listen(): Promise<void> {
    const isNews = ({ type }: Report): boolean => type !== 'ready' && type !== 'done';
    try {
      for (;;) this.#hear(await this.child.next<Report>(isNews, SILENCE_MS));
    } catch (error) {
      if (!this.#leaving) this.#crash = error as Error;
    }
  }

  #hear(report: Report): void {
    if (report.type === 'hold') this.holds.push(report.hold);
    if (report.type === 'failure') this.failures.push(report.failure);
    if (report.type === 'change') this.changes.push({ ...report.change, at: nowMs() });
    if (report.type === 'log') this.log.push(report.line);
  }
}
