import { systemRuntime, type Runtime } from '../../runtime.js';
import { abandon, end, rowsOf, type PgClient, type Row } from './pg-client.js';

/** With a name it is prepared once per connection. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

export interface SessionTerms {
  /** After so long without a question, one is asked. */
  readonly heartbeatMs: number;
  /** A question that is not answered for so long means that the connection is broken. */
  readonly timeoutMs: number;
  /** False: no statement is prepared by name, since the next one may go to another backend. Default true. */
  readonly prepare?: boolean;
}

interface Question {
  readonly ask: () => Promise<readonly Row[]>;
  readonly limitMs: number;
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (reason: Error) => void;
}

const SIGN_OF_LIFE: Statement = { name: 'lock_alive', text: 'select pg_backend_pid() as pid' };
/** Host name, TLS, password: more than one round trip, and on a loaded server a new process. */
const CONNECT_LIMIT_MS = 5000;
/** After the event loop stood still, an answer may lie there unread. */
const SECOND_LOOK_MS = 1;

/**
 * One connection, from its first packet to its end, which comes once and for good. Questions go out one at a time and in order, so that what is asked after a release is
 * answered after it. It is given up as soon as it is silent for too long: nobody can tell a slow server from a cut network, and what it holds must not be relied on.
 */
export class Session {
  readonly #queue: Question[] = [];
  #current: Question | undefined;
  #askedAt = 0;
  #alive: Promise<void> | undefined;
  #lost: Error | undefined;
  #overdue = false;
  #dueAt = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;
  #pid: string | undefined;
  /** Called once, before what was asked is rejected. */
  onLost: ((reason: Error) => void) | undefined;
  onNotification: ((payload: string) => void) | undefined;

  constructor(
    readonly client: PgClient,
    private readonly terms: SessionTerms,
    private readonly runtime: Runtime = systemRuntime,
  ) {
    client.on('error', this.#failed);
    client.on('end', this.#ended);
    client.on('notification', this.#notified);
  }

  get lost(): Error | undefined {
    return this.#lost;
  }

  /** @throws what the server said, or what became of the connection. */
  async connect(): Promise<void> {
    await this.#enqueue(() => this.client.connect().then(() => []), CONNECT_LIMIT_MS);
  }

  /** From now on the same backend must answer, or it is no session: a proxy may have more of them behind it. */
  pin(pid: string): void {
    this.#pid = pid;
  }

  unpin(): void {
    this.#pid = undefined;
  }

  /** Of the backend that answers; nothing is left on it, since it may be anyone's. */
  pid(): Promise<string | undefined> {
    return this.#askPid({ text: SIGN_OF_LIFE.text });
  }

  /** Rejects with the server's error, after which the connection goes on, or with the reason of its loss. */
  ask(statement: Statement, values: readonly unknown[] = [], limitMs = this.terms.timeoutMs): Promise<readonly Row[]> {
    const query = { text: statement.text, values, name: this.terms.prepare === false ? undefined : statement.name };
    return this.#enqueue(() => this.client.query(query).then(rowsOf), limitMs);
  }

  /** Resolves when the server has answered a question that went out after this call. All calls of one tick share one. */
  alive(): Promise<void> {
    return (this.#alive ??= this.#checkAlive());
  }

  /** Ends it as broken. */
  lose(reason: Error): void {
    if (this.#finish(reason)) abandon(this.client);
  }

  /** Ends it in good order, if nothing is under way, so that the server frees its locks at once. Resolves within `limitMs`. */
  async close(reason: Error, limitMs: number): Promise<void> {
    const idle = !this.#current;
    if (!this.#finish(reason)) return;
    if (idle) await end(this.client, limitMs, this.runtime.timers);
    else abandon(this.client);
  }

  #finish(reason: Error): boolean {
    if (this.#lost) return false;
    this.#lost = reason;
    this.#disarm();
    this.client.off('error', this.#failed);
    this.client.off('end', this.#ended);
    this.client.off('notification', this.#notified);
    this.onLost?.(reason);
    const left = this.#current ? [this.#current, ...this.#queue] : [...this.#queue];
    this.#queue.length = 0;
    this.#current = undefined;
    for (const { reject } of left) reject(reason);
    return true;
  }

  #enqueue(ask: () => Promise<readonly Row[]>, limitMs: number): Promise<readonly Row[]> {
    if (this.#lost) return Promise.reject(this.#lost);
    return new Promise((resolve, reject) => {
      this.#queue.push({ ask, limitMs, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#current) return;
    const question = this.#queue.shift();
    if (!question) return;
    this.#current = question;
    this.#askedAt = this.runtime.clock.monotonic();
    const lookAt = this.#askedAt + Math.min(question.limitMs, this.terms.heartbeatMs);
    if (this.#dueAt > lookAt) this.#arm(lookAt);
    question.ask().then(
      (rows) => this.#answered(question, () => question.resolve(rows)),
      (error: Error) => {
        if (isEnd(error)) this.lose(error);
        this.#answered(question, () => question.reject(error));
      },
    );
  }

  #answered(question: Question, settle: () => void): void {
    if (this.#current !== question) return;
    this.#current = undefined;
    this.#overdue = false;
    settle();
    this.#next();
  }

  async #checkAlive(): Promise<void> {
    await Promise.resolve(); // the rest of this tick may join
    this.#alive = undefined;
    const pid = await this.#askPid(SIGN_OF_LIFE);
    if (this.#pid === undefined || pid === this.#pid) return;
    const reason = new Error('another backend answers than before: there is a transaction-pooling proxy in between');
    this.lose(reason);
    throw reason;
  }

  async #askPid(statement: Statement): Promise<string | undefined> {
    const [row] = await this.ask(statement);
    return row?.['pid'] ?? undefined;
  }

  /** One timer: for the answer that is due, or for the next sign of life. */
  #arm(at: number): void {
    this.#disarm();
    this.#dueAt = at;
    const delayMs = Math.max(SECOND_LOOK_MS, Math.ceil(at - this.runtime.clock.monotonic()));
    this.#cancel = this.runtime.timers.start(() => this.#look(), delayMs);
  }

  #disarm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  #look(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
    const now = this.runtime.clock.monotonic();
    const silentMs = now - this.#askedAt;
    if (this.#current && silentMs >= this.#current.limitMs) {
      if (this.#overdue) return this.lose(new Error(`no answer within ${this.#current.limitMs} ms`));
      this.#overdue = true;
      return this.#arm(now + SECOND_LOOK_MS);
    }
    if (!this.#current && silentMs >= this.terms.heartbeatMs) {
      this.alive().catch(() => undefined); // whoever holds something hears of the loss
      return this.#arm(now + Math.min(this.terms.heartbeatMs, this.terms.timeoutMs));
    }
    // While an answer is due, too: once it has come, the next sign of life must not wait for what its limit would have been.
    const nextBeat = (this.#current ? now : this.#askedAt) + this.terms.heartbeatMs;
    this.#arm(this.#current ? Math.min(nextBeat, this.#askedAt + this.#current.limitMs) : nextBeat);
  }

  readonly #failed = (error: Error): void => this.lose(error);
  readonly #ended = (): void => this.lose(new Error('the server closed the connection'));
  readonly #notified = ({ payload }: { readonly payload?: string }): void => this.onNotification?.(payload ?? '');
}

/** The server says goodbye: an administrator, a shutdown, a session that was idle for too long. */
function isEnd(error: Error & { readonly code?: string; readonly severity?: string }): boolean {
  return error.severity === 'FATAL' || error.severity === 'PANIC' || (error.code?.startsWith('57P') ?? false);
}
