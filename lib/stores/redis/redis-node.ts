import type { Timers } from '../../runtime.js';
import { Flight, type Pending } from './flight.js';
import type { LockNode, NodeReply, NodeRequest } from './lock-node.js';
import { FreeChannel, type Told } from './free-channel.js';
import { LockScripts, type ScriptCall } from './lock-scripts.js';
import type { RedisClient } from './redis-client.js';
import { Silence } from './silence.js';

export interface RedisNodeTerms {
  readonly name: string;
  /** Whether we made the client, and so close it. */
  readonly own: boolean;
  readonly retentionMs: number;
  readonly quarantineMs: number;
  /** Whether it is the only node, and so keeps the lines of those who wait. */
  readonly lines?: boolean;
  readonly log: (message: string) => void;
}

/** A script holds Redis up for as long as it runs: about 5 µs a request. */
const MOST_PER_SCRIPT = 256;
/** A node that leaves this many scripts unanswered gets no more until it answers: what is sent to it only piles up. */
const MOST_OVERDUE = 64;
/** Releases go on for longer: they undo what it will carry out once it wakes. */
const MOST_OVERDUE_RELEASES = 1024;
const CLOSE_MS = 500;
const MARK: NodeRequest = { verb: 'mark', key: '', owner: '', ms: 0, token: 0 };

/**
 * One Redis. The first request of a tick goes out at once, so that the node works on it while this process finishes the tick; what else the tick asks for follows
 * as one script, and so does all that is asked for between `cork` and `uncork`.
 */
export class RedisNode implements LockNode {
  readonly name: string;
  readonly lines: boolean;
  readonly #scripts: LockScripts;
  readonly #silence: Silence | undefined;
  readonly #free: FreeChannel;
  #batch: Pending[] = [];
  /** Whether this tick has sent something already; its end sends the rest. */
  #ticking = false;
  #corked = false;
  #overdue = 0;
  #down: string | undefined;
  /** What was wrong with a connection that is still up, such as READONLY: if it closes, that is why. */
  #complaint: string | undefined;

  constructor(
    private readonly client: RedisClient,
    private readonly terms: RedisNodeTerms,
    private readonly timers: Timers,
  ) {
    this.name = terms.name;
    this.lines = terms.lines ?? false;
    this.#scripts = new LockScripts(terms.quarantineMs, terms.retentionMs, terms.lines);
    if (terms.own) this.#silence = new Silence(client, timers);
    this.#free = new FreeChannel(client, timers);
    client.on('error', this.#onError);
    client.on('close', this.#onClose);
    client.on('ready', this.#onReady);
    if (client.status === 'ready') this.#onReady();
    else if (client.status === 'wait') client.connect().catch(this.#onError);
  }

  send(request: NodeRequest, timeoutMs: number, late?: (reply: NodeReply) => void): Promise<NodeReply> {
    // Nothing may lie in an offline queue and be sent when nobody wants it any more.
    if (this.client.status !== 'ready') {
      return Promise.reject(new Error(`not connected${this.#down ? ` (${this.#down})` : ''}`));
    }
    const most = request.verb === 'release' || request.verb === 'undo' ? MOST_OVERDUE_RELEASES : MOST_OVERDUE;
    if (this.#overdue >= most) return Promise.reject(new Error('not answering'));
    return new Promise((resolve, reject) => {
      const pending = { request, timeoutMs, late, resolve, reject, overdue: false };
      const atOnce = !this.#ticking && !this.#corked;
      if (atOnce) this.#run([pending]);
      else this.#batch.push(pending);
      if (!this.#ticking) process.nextTick(() => this.#flush());
      this.#ticking = true;
    });
  }

  onFree(key: string, told: Told): () => void {
    return this.#free.listen(key, told);
  }

  hears(key: string): boolean {
    return this.#free.hears(key);
  }

  cork(): void {
    this.#corked = true;
  }

  uncork(): void {
    this.#corked = false;
  }

  /** Resolves once the connection is ready, or after `limitMs` without one; false in that case. */
  whenReady(limitMs: number): Promise<boolean> {
    if (this.client.status === 'ready') return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = (): void => {
        cancel();
        this.client.off('ready', settle);
        resolve(this.client.status === 'ready');
      };
      const cancel = this.timers.start(settle, limitMs, true);
      this.client.on('ready', settle);
    });
  }

  async close(): Promise<void> {
    this.#silence?.end();
    this.#free.close();
    if (this.terms.own) {
      if (this.client.status === 'ready') await this.#quit();
      this.client.disconnect();
    }
    this.client.off('close', this.#onClose);
    this.client.off('ready', this.#onReady);
    if (!this.terms.own) this.client.off('error', this.#onError);
  }

  #flush(): void {
    const pending = this.#batch;
    this.#batch = [];
    this.#ticking = false;
    // In a Cluster each user key has its own slot, and a script may not cross slots.
    const most = this.client.isCluster ? 1 : MOST_PER_SCRIPT;
    for (let from = 0; from < pending.length; from += most) {
      this.#run(pending.length <= most ? pending : pending.slice(from, from + most));
    }
  }

  #run(batch: readonly Pending[]): void {
    const [first] = batch;
    const lone = batch.length === 1 && first !== undefined;
    const call = lone ? this.#scripts.one(first.request) : this.#scripts.all(batch.map(({ request }) => request));
    const flight = new Flight(batch, this.timers, () => this.#isOverdue());
    let replies: Promise<unknown>;
    try {
      replies = this.client.evalsha(call.sha, call.keyCount, ...call.args);
    } catch (error) {
      return this.#fail(flight, error);
    }
    replies.then(
      (answer) => this.#deliver(flight, lone ? [answer] : (answer as unknown[])),
      (error: unknown) => {
        // The node forgot its scripts. What nobody waits for any more is not sent a second time.
        if (flight.abandoned || !reason(error).startsWith('NOSCRIPT')) return this.#fail(flight, error);
        this.#load(call).then(
          (answer) => this.#deliver(flight, lone ? [answer] : (answer as unknown[])),
          (failure: unknown) => this.#fail(flight, failure),
        );
      },
    );
  }

  #deliver(flight: Flight, answers: readonly unknown[]): void {
    this.#land(flight);
    flight.requests.forEach((pending, index) => {
      const reply = toReply(answers[index]);
      if (reply instanceof Error) pending.reject(reply);
      else if (pending.overdue) pending.late?.(reply);
      else pending.resolve(reply);
    });
  }

  #fail(flight: Flight, error: unknown): void {
    this.#land(flight);
    const why = reason(error);
    if (why.startsWith('READONLY')) this.#complaint = why;
    for (const pending of flight.requests) pending.reject(new Error(why));
  }

  #isOverdue(): void {
    this.#overdue++;
    this.#silence?.begin();
  }

  #land(flight: Flight): void {
    flight.land();
    if (!flight.overdue) return;
    this.#overdue--;
    this.#silence?.end();
  }

  /** Loads the scripts and sets the marker, so that the first lock pays for neither. Each lock's own call tells what is wrong. */
  #prime(): void {
    if (this.client.isCluster) return;
    for (const text of this.#scripts.texts) this.client.script('LOAD', text).catch(() => undefined);
    this.#load(this.#scripts.one(MARK)).catch(() => undefined);
  }

  /** Carries the call out, and leaves its script on the node. */
  #load({ text, keyCount, args }: ScriptCall): Promise<unknown> {
    return this.client.eval(text, keyCount, ...args);
  }

  async #quit(): Promise<void> {
    let cancel: () => void = () => undefined;
    const limit = new Promise<void>((resolve) => (cancel = this.timers.start(resolve, CLOSE_MS, true)));
    await Promise.race([this.client.quit().catch(() => undefined), limit]);
    cancel();
  }

  readonly #onReady = (): void => {
    if (this.#down !== undefined) this.terms.log(`Redis node ${this.name} is connected again`);
    this.#down = undefined;
    this.#complaint = undefined;
    this.#prime();
  };

  readonly #onError = (error: unknown): void => {
    this.#complaint = reason(error);
    this.#wentDown(this.#complaint);
  };

  // An error that came before tells more: a refused port, a wrong password.
  readonly #onClose = (): void => this.#wentDown(this.#down ?? this.#complaint ?? 'connection closed');

  #wentDown(why: string): void {
    if (this.client.status === 'ready') return;
    if (this.#down === undefined) this.terms.log(`Redis node ${this.name} is out of reach: ${why}`);
    this.#down = why;
  }
}

/** How clients say that the connection broke under a command: as advice on options that a user must not change here. */
const LOST = /^(Reached the max retries per request|Stream isn't writeable|Connection is closed)/;

function reason(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return LOST.test(text) ? 'connection lost' : text;
}

function toReply(answer: unknown): NodeReply | Error {
  // A number may come as text: some clients are set to do so.
  if (!Array.isArray(answer)) return { status: 'yes', value: Number(answer) };
  const [code, value] = answer as [unknown, unknown];
  const status = Number(code);
  if (status < 0) return new Error(String(value));
  if (status === 2) return { status: 'quarantined', value: Number(value) };
  if (!Array.isArray(value)) return { status: status === 0 ? 'no' : 'yes', value: Number(value) };
  const [owner, remainingMs, fence] = value as unknown[];
  if (status === 0) return { status: 'no', value: Number(remainingMs), holder: String(owner) };
  return { status: 'yes', value: Number(fence), state: { owner: String(owner), remainingMs: Number(remainingMs) } };
}
