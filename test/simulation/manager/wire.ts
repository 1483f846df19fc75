import { Debts, type Debt } from '../../../lib/stores/redis/debts.js';
import type { Asker, LockNode, NodeReply, NodeRequest } from '../../../lib/stores/redis/lock-node.js';
import { NOBODY } from '../../../lib/stores/redis/node-group.js';
import type { LinedNode } from '../../stores/redis/simulation/lined-node.js';
import type { Link } from '../link.js';
import type { SimProcess } from '../sim-process.js';

type Told = (whose: string | undefined) => void;

interface Call extends Debt {
  readonly asker: Asker;
  overdue: boolean;
  cancel: () => void;
}

const MARK: NodeRequest = { verb: 'mark', key: '', owner: '', ms: 0, token: 0 };

/** One node as one process reaches it: requests and answers over a link, time-outs, and a subscription to each key that someone waits for. */
export class Wire implements LockNode {
  /** Called when the next renewal goes out; returns how much later it arrives. */
  strike: (() => number) | undefined;
  readonly #listeners = new Map<string, Set<Told>>();
  /** Keys whose subscription the node has confirmed. */
  readonly #live = new Set<string>();
  readonly #open = new Set<Call>();
  readonly #debts = new Debts();
  /** It left something without an answer, and has not been heard since. */
  #silent = false;

  constructor(
    readonly name: string,
    private readonly node: LinedNode,
    readonly link: Link,
    readonly process: SimProcess,
  ) {}

  get listeners(): number {
    return [...this.#listeners.values()].reduce((sum, each) => sum + each.size, 0);
  }

  get out(): boolean {
    return this.#silent || this.link.refused;
  }

  send(request: NodeRequest, timeoutMs: number, asker: Asker, spare = false): void {
    if (this.link.refused || (spare && this.#silent)) {
      this.#debts.unsent({ request, timeoutMs });
      return queueMicrotask(() => asker.failed(this, 'not connected'));
    }
    const struck = request.verb === 'renew' ? this.strike : undefined;
    if (struck) this.strike = undefined;
    const call: Call = { request, timeoutMs, asker, overdue: false, cancel: () => undefined };
    this.#open.add(call);
    call.cancel = this.process.timers.start(() => {
      call.overdue = true;
      this.#silent = true;
      asker.failed(this, 'no answer in time');
    }, timeoutMs);
    this.link.send(
      () => this.node.serve(request),
      (reply) => this.#answered(call, reply),
      struck?.(),
    );
  }

  hears(key: string): boolean {
    return this.#live.has(key);
  }

  onFree(key: string, told: Told): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(told));
    if (listeners.size === 1) this.#subscribe(key);
    return () => {
      listeners.delete(told);
      if (listeners.size > 0 || this.#listeners.get(key) !== listeners) return;
      this.#listeners.delete(key);
      this.#live.delete(key);
    };
  }

  /** The connection broke: what was under way has no answer, and until it stands again nothing is heard. */
  broken(): void {
    this.#live.clear();
    this.process.run(() => {
      for (const { cancel, request, timeoutMs, overdue, asker } of this.#open) {
        cancel();
        this.#debts.unanswered({ request, timeoutMs });
        if (!overdue) asker.failed(this, 'connection lost');
      }
      this.#open.clear();
    });
  }

  /** It stands again. */
  restored(): void {
    this.broken();
    this.process.run(() => {
      this.#isBack();
      for (const key of this.#listeners.keys()) this.#subscribe(key);
    });
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#live.clear();
  }

  /** As a node of Redis does: what it was not told while it was out it is told when it answers again. */
  #answered(call: Call, reply: NodeReply): void {
    if (!this.#open.delete(call)) return; // on a connection that is gone
    call.cancel();
    if (call.overdue) call.asker.late(this, reply);
    else call.asker.answered(this, reply);
    if (!this.#silent || [...this.#open].some(({ overdue }) => overdue)) return;
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

  #subscribe(key: string): void {
    this.link.send(
      () => this.node.subscribe(this.#hears),
      () => {
        if (!this.#listeners.has(key)) return;
        this.#live.add(key);
        this.#tell(key, undefined);
      },
    );
  }

  readonly #hears = (key: string, whose: string): void => {
    if (this.#listeners.has(key)) this.link.push(() => this.#tell(key, whose));
  };

  #tell(key: string, whose: string | undefined): void {
    for (const told of [...(this.#listeners.get(key) ?? [])]) told(whose);
  }
}
