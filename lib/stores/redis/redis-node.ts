import type { Timers } from '../../runtime.js';
import { Channels } from './channels.js';
import { quit } from './connection.js';
import { Debts } from './debts.js';
import type { Fitness } from './fitness.js';
import { Flight, type Awaited, type Pending } from './flight.js';
import { KeyScan } from './key-scan.js';
import {
  MARK,
  type Asker,
  type LockNode,
  type NodeRenewals,
  type NodeRequest,
  type NodeScan,
  type RenewalAsker,
} from './lock-node.js';
import { FreeChannel, type Told } from './free-channel.js';
import { NOBODY } from './node-group.js';
import { LockScripts, type ScriptCall } from './lock-scripts.js';
import type { RedisClient } from './redis-client.js';
import { NodeState } from './node-state.js';
import { Plight } from './plight.js';
import type { StoreObserver } from '../store-observer.js';
import { CONNECTION_LOST, isOwnDoing, reason, toReply } from './script-answer.js';
import { Silence } from './silence.js';
import { TickBatch } from './tick-batch.js';
import { Turns } from './turns.js';

export interface RedisNodeTerms {
  readonly name: string;
  /** Whether we made the client, and so close it. */
  readonly own: boolean;
  readonly retentionMs: number;
  readonly quarantineMs: number;
  readonly log: (message: string) => void;
  /** Whether it may be asked for locks. */
  readonly fitness?: Fitness;
}

/** `again`: it may be the answer to a second time, since a client of the user's may send again what its connection broke under. */
type Deliver = (answer: unknown, again: boolean) => void;

/** A node that leaves this many scripts unanswered gets no more until it answers, even if it is needed: what is sent to it only piles up. */
const MOST_OVERDUE = 64;

/** One Redis: its connection, what is asked of it, and what it says. */
export class RedisNode implements LockNode {
  readonly name: string;
  /** Not on a Cluster, where a script may not cross slots. */
  readonly renewAll?: NonNullable<LockNode['renewAll']>;
  readonly #scripts: LockScripts;
  readonly #silence: Silence | undefined;
  readonly turns: Turns;
  readonly scan?: (prefix: string, cursor: string, count: number) => Promise<NodeScan>;
  readonly #channels: Channels;
  readonly #free: FreeChannel;
  readonly #tick: TickBatch;
  /** Requests on their way. */
  #open = 0;
  /** Scripts whose answers are overdue. */
  #overdue = 0;
  readonly #debts = new Debts();
  readonly #explain: (() => Promise<string | undefined>) | undefined;
  readonly #state: NodeState;

  constructor(
    private readonly client: RedisClient,
    private readonly terms: RedisNodeTerms,
    private readonly timers: Timers,
  ) {
    this.name = terms.name;
    this.#scripts = new LockScripts(terms.quarantineMs, terms.retentionMs, client.isCluster);
    if (!client.isCluster) this.renewAll = (...asked) => this.#renewAll(...asked);
    if (terms.own) this.#silence = new Silence(client, timers);
    const plight = new Plight(client, timers);
    if (client.isCluster) this.#explain = () => plight.idleNow();
    this.#channels = new Channels(client, (why) => terms.fitness?.deaf(why));
    this.#free = new FreeChannel(this.#channels, timers);
    this.turns = new Turns(this.#channels);
    if (client.scan) {
      const scan = new KeyScan(client, this.#channels.prefix, timers);
      this.scan = (prefix, cursor, count) => scan.next(prefix, cursor, count);
    }
    const send = (batch: readonly Pending[]): void => this.#run(batch);
    this.#tick = new TickBatch(send, () => this.#open, client.isCluster === true);
    this.#state = new NodeState(terms.name, client, plight, terms.log, () => {
      this.#prime();
      this.#isBack();
    });
    this.#state.begin();
  }

  get out(): boolean {
    return this.#state.isSilent || !this.#state.isConnected;
  }

  readonly unfit = (): string | undefined => this.terms.fitness?.refusal();

  observe(observer: StoreObserver): () => void {
    return this.#state.reachability.observe(observer);
  }

  send(request: NodeRequest, timeoutMs: number, asker: Asker, spare = false): void {
    const asksForLock = request.verb === 'acquire' || request.verb === 'queue';
    const refusal = this.#refusal(spare) ?? (asksForLock ? this.unfit() : undefined);
    if (refusal !== undefined) {
      this.#debts.unsent({ request, timeoutMs });
      return queueMicrotask(() => asker.failed(this, refusal));
    }
    this.#tick.add({ request, timeoutMs, asker, overdue: false, joined: false });
  }

  onFree(key: string, told: Told): () => void {
    return this.#free.listen(key, told);
  }

  hears(key: string): boolean {
    return this.#free.hears(key);
  }

  cork(): void {
    this.#tick.cork();
  }

  uncork(): void {
    this.#tick.uncork();
  }

  /** Why nothing can be sent now: nothing may lie in an offline queue, or on the way to a node that hangs, and be carried out when nobody wants it any more. */
  #refusal(spare: boolean): string | undefined {
    if (!this.#state.isConnected) return this.#state.whyNotConnected;
    return this.#overdue >= MOST_OVERDUE || (spare && this.#state.isSilent) ? 'not answering' : undefined;
  }

  /** Resolves once the connection is ready, or after `limitMs` without one; false in that case. */
  whenReady(limitMs: number): Promise<boolean> {
    return this.#state.whenReady(limitMs, this.timers);
  }

  async close(): Promise<void> {
    this.#silence?.end();
    this.#free.close();
    this.#channels.close();
    this.terms.fitness?.end();
    if (this.terms.own) {
      if (this.#state.isConnected) await quit(this.client, this.timers);
      this.client.disconnect();
    }
    this.#state.ignore(this.terms.own);
  }

  #renewAll(renewals: NodeRenewals, timeoutMs: number, asker: RenewalAsker, spare = false): void {
    const refusal = this.#refusal(spare);
    if (refusal !== undefined) return queueMicrotask(() => asker.failed(this, refusal));
    const awaited: Awaited = { timeoutMs, asker, overdue: false };
    this.#launch(this.#scripts.renewAll(renewals), [awaited], (answer) => {
      if (!awaited.overdue) asker.renewed(this, (answer as unknown[]).map(Number));
    });
  }

  #run(batch: readonly Pending[]): void {
    const lone = batch.length === 1 ? batch[0] : undefined;
    const call = lone ? this.#scripts.one(lone.request) : this.#scripts.all(batch.map(({ request }) => request));
    this.#launch(call, batch, (answer, again) => this.#deliver(batch, lone ? [answer] : (answer as unknown[]), again));
  }

  #launch(call: ScriptCall, awaited: readonly Awaited[], deliver: Deliver): void {
    const { breaks } = this.#state;
    let sent: Promise<unknown>;
    try {
      sent = this.client.evalsha(call.sha, call.keyCount, ...call.args);
    } catch (error) {
      sent = Promise.reject(error as Error);
    }
    this.#open += awaited.length;
    const flight = new Flight(awaited, this, this.timers, this.#isOverdue, this.#explain);
    const heard = this.#state.reachability.asked();
    const landed = (answer: unknown): void => {
      heard?.();
      deliver(answer, this.#state.breaks !== breaks);
      this.#land(flight);
    };
    sent.then(landed, (error: unknown) => {
      // The node forgot its scripts. What nobody waits for any more is not sent a second time.
      if (flight.abandoned || !reason(error).startsWith('NOSCRIPT')) return this.#fail(flight, error);
      this.#load(call).then(landed, (failure: unknown) => this.#fail(flight, failure));
    });
  }

  #deliver(requests: readonly Pending[], answers: readonly unknown[], again: boolean): void {
    for (let index = 0; index < requests.length; index++) {
      const { asker, overdue, request } = requests[index]!;
      const reply = toReply(answers[index]);
      if (typeof reply !== 'string') {
        if (overdue) asker.late(this, reply);
        else if (again && isOwnDoing(request, reply)) asker.failed(this, CONNECTION_LOST);
        else asker.answered(this, reply);
      } else {
        this.terms.fitness?.heard(reply);
        if (!overdue) asker.failed(this, reply);
      }
    }
  }

  #fail(flight: Flight, error: unknown): void {
    this.#land(flight);
    const why = reason(error);
    if (why.startsWith('READONLY')) this.#state.complain(why);
    this.terms.fitness?.heard(why);
    const lost = why === CONNECTION_LOST || !this.#state.isConnected;
    for (const { request, timeoutMs, asker, overdue } of flight.awaited) {
      if (lost && request) this.#debts.unanswered({ request, timeoutMs });
      if (!overdue) asker.failed(this, why);
    }
  }

  readonly #isOverdue = (why: string | undefined): void => {
    this.#overdue++;
    this.#state.fellSilent(why);
    this.#silence?.begin();
  };

  #land(flight: Flight): void {
    flight.land();
    this.#open -= flight.awaited.length;
    if (flight.overdue) {
      this.#overdue--;
      this.#silence?.end();
    }
    if (!this.#state.isSilent || this.#overdue > 0 || !this.#state.isConnected) return;
    if (!flight.overdue) this.#isBack();
    // It answers again; whether it does so in time, what it was not told shows as well.
    else if (!this.#settle()) this.send(MARK, flight.awaited[0]!.timeoutMs, NOBODY);
  }

  #isBack(): void {
    this.#state.isBack();
    this.#debts.forget();
    this.#settle();
  }

  /** Tells it what it has missed; false if that is nothing. */
  #settle(): boolean {
    const owed = this.#debts.collect();
    for (const { request, timeoutMs } of owed) this.send(request, timeoutMs, NOBODY);
    return owed.length > 0;
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
}
