import type { Heard } from '../../../lib/stores/redis/channels.js';
import { Debts, type Debt } from '../../../lib/stores/redis/debts.js';
import { freeChannel } from '../../../lib/stores/redis/key-names.js';
import type { Asker, LockNode, NodeRenewals, NodeRequest, RenewalAsker } from '../../../lib/stores/redis/lock-node.js';
import { NOBODY } from '../../../lib/stores/redis/node-group.js';
import type { LinedNode } from '../../stores/redis/simulation/lined-node.js';
import type { Link } from '../link.js';
import type { SimProcess } from '../sim-process.js';
import { WatchedTurns } from './watched-turns.js';

type Told = (whose: string | undefined) => void;

interface Call extends Omit<Debt, 'request'> {
  /** Only of one that was asked for by itself. */
  readonly request?: NodeRequest;
  readonly asker: Pick<Asker, 'failed'>;
  overdue: boolean;
  cancel: () => void;
}

const NAME = /^lock:\{(.*)\}$/;

const MARK: NodeRequest = { verb: 'mark', key: '', owner: '', ms: 0, token: 0 };

/** One node as one process reaches it: requests and answers over a link, time-outs, and subscriptions to channels. */
export class Wire implements LockNode {
  /** Called when the next renewal goes out; returns how much later it arrives. */
  strike: (() => number) | undefined;
  readonly prefix = '';
  readonly turns: WatchedTurns;
  readonly #listeners = new Map<string, Set<Told>>();
  readonly #heard = new Map<string, Heard>();
  /** Channels whose subscription the node has confirmed. */
  readonly #live = new Set<string>();
  readonly #calls = new Set<Call>();
  readonly #debts = new Debts();
  /** It left something without an answer, and has not been heard since. */
  #silent = false;

  constructor(
    readonly name: string,
    private readonly node: LinedNode,
    readonly link: Link,
    readonly process: SimProcess,
    OwnTurns: typeof WatchedTurns,
  ) {
    this.turns = new OwnTurns(this);
  }

  get listeners(): number {
    return [...this.#listeners.values()].reduce((sum, each) => sum + each.size, this.turns.open);
  }

  get out(): boolean {
    return this.#silent || this.link.refused;
  }

  send(request: NodeRequest, timeoutMs: number, asker: Asker, spare = false): void {
    if (this.link.refused || (spare && this.#silent)) {
      this.#debts.unsent({ request, timeoutMs });
      return queueMicrotask(() => asker.failed(this, 'not connected'));
    }
    const call = this.#open({ request, timeoutMs, asker });
    this.link.send(
      () => this.node.serve(request),
      (reply) => this.#answered(call, () => (call.overdue ? asker.late(this, reply) : asker.answered(this, reply))),
      request.verb === 'renew' ? this.#struck() : 0,
    );
  }

  renewAll({ names, owners, ms }: NodeRenewals, timeoutMs: number, asker: RenewalAsker, spare = false): void {
    if (this.link.refused || (spare && this.#silent)) {
      return queueMicrotask(() => asker.failed(this, 'not connected'));
    }
    const call = this.#open({ timeoutMs, asker });
    const serve = (): number[] =>
      owners.split('\n').flatMap((owner, place) => {
        if (owner === '') return [];
        const key = NAME.exec(names[place]!)![1]!;
        return this.node.serve({ verb: 'renew', key, owner, ms, token: 0 }).status === 'yes' ? [] : [place];
      });
    const told = (refused: number[]): void => void (call.overdue || asker.renewed(this, refused));
    this.link.send(serve, (refused) => this.#answered(call, () => told(refused)), this.#struck());
  }

  hears(key: string): boolean {
    return this.isLive(freeChannel(key));
  }

  onFree(key: string, told: Told): () => void {
    const channel = freeChannel(key);
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(told));
    if (listeners.size === 1) this.open(channel, (whose) => [...listeners].forEach((each) => each(whose)));
    return () => {
      listeners.delete(told);
      if (listeners.size > 0 || this.#listeners.get(channel) !== listeners) return;
      this.#listeners.delete(channel);
      this.#heard.delete(channel);
      this.#live.delete(channel);
    };
  }

  open(channel: string, heard: Heard): void {
    this.#heard.set(channel, heard);
    this.#subscribe(channel);
  }

  isOpen(channel: string): boolean {
    return this.#heard.has(channel);
  }

  isLive(channel: string): boolean {
    return this.#live.has(channel);
  }

  /** The connection broke: what was under way has no answer, and until it stands again nothing is heard. */
  broken(): void {
    this.#live.clear();
    this.process.run(() => {
      for (const { cancel, request, timeoutMs, overdue, asker } of this.#calls) {
        cancel();
        if (request) this.#debts.unanswered({ request, timeoutMs });
        if (!overdue) asker.failed(this, 'connection lost');
      }
      this.#calls.clear();
    });
  }

  /** It stands again. */
  restored(): void {
    this.broken();
    this.process.run(() => {
      this.#isBack();
      for (const channel of this.#heard.keys()) this.#subscribe(channel);
    });
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#heard.clear();
    this.#live.clear();
  }

  #open(asked: Pick<Call, 'request' | 'timeoutMs' | 'asker'>): Call {
    const call: Call = { ...asked, overdue: false, cancel: () => undefined };
    this.#calls.add(call);
    call.cancel = this.process.timers.start(() => {
      call.overdue = true;
      this.#silent = true;
      call.asker.failed(this, 'no answer in time');
    }, call.timeoutMs);
    return call;
  }

  #struck(): number {
    const struck = this.strike;
    this.strike = undefined;
    return struck?.() ?? 0;
  }

  /** As a node of Redis does: what it was not told while it was out it is told when it answers again. */
  #answered(call: Call, tell: () => void): void {
    if (!this.#calls.delete(call)) return; // on a connection that is gone
    call.cancel();
    tell();
    if (!this.#silent || [...this.#calls].some(({ overdue }) => overdue)) return;
    if (!call.overdue) this.#isBack();
    else if (!this.#settle()) this.send(MARK, call.timeoutMs, NOBODY);
  }

  #isBack(): void {
    this.#silent = false;
    this.#debts.forget();
    this.#settle();
  }

  #settle(): boolean {
    const owed = this.#debts.collect();
    for (const { request, timeoutMs } of owed) this.send(request, timeoutMs, NOBODY);
    return owed.length > 0;
  }

  #subscribe(channel: string): void {
    this.link.send(
      () => this.node.subscribe(this.#hears),
      () => {
        const heard = this.#heard.get(channel);
        if (!heard) return;
        this.#live.add(channel);
        heard(undefined);
      },
    );
  }

  /** A process that has died has no connection any more. */
  readonly #hears = (channel: string, message: string): boolean => {
    if (!this.process.alive || !this.#heard.has(channel)) return false;
    this.link.push(() => this.#heard.get(channel)?.(message));
    return true;
  };
}
