import type { Asker, LockNode, NodeRequest } from '../../../lib/stores/redis/lock-node.js';
import type { LinedNode } from '../../stores/redis/simulation/lined-node.js';
import type { Link } from '../link.js';
import type { SimProcess } from '../sim-process.js';

type Told = (whose: string | undefined) => void;

/** One node as one process reaches it: requests and answers over a link, time-outs, and a subscription to each key that someone waits for. */
export class Wire implements LockNode {
  /** Called when the next renewal goes out; returns how much later it arrives. */
  strike: (() => number) | undefined;
  readonly #listeners = new Map<string, Set<Told>>();
  /** Keys whose subscription the node has confirmed. */
  readonly #live = new Set<string>();

  constructor(
    readonly name: string,
    private readonly node: LinedNode,
    readonly link: Link,
    readonly process: SimProcess,
  ) {}

  get listeners(): number {
    return [...this.#listeners.values()].reduce((sum, each) => sum + each.size, 0);
  }

  send(request: NodeRequest, timeoutMs: number, asker: Asker): void {
    if (this.link.refused) return queueMicrotask(() => asker.failed(this, 'not connected'));
    const struck = request.verb === 'renew' ? this.strike : undefined;
    if (struck) this.strike = undefined;
    let overdue = false;
    const cancel = this.process.timers.start(() => {
      overdue = true;
      asker.failed(this, 'no answer in time');
    }, timeoutMs);
    this.link.send(
      () => this.node.serve(request),
      (reply) => {
        cancel();
        if (overdue) asker.late(this, reply);
        else asker.answered(this, reply);
      },
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

  /** The connection broke: until it stands again, nothing is heard. */
  broken(): void {
    this.#live.clear();
  }

  restored(): void {
    this.broken();
    for (const key of this.#listeners.keys()) this.#subscribe(key);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.broken();
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
