import type { StoreObserver } from './store-observer.js';

type NodeObserver = Omit<StoreObserver, 'authorityChanged'>;

/** Whether one server can be reached, for those who want to be told when that changes; whoever comes while it cannot is told at once. */
export class Reachability {
  #trouble: string | undefined;
  readonly #observers = new Set<NodeObserver>();

  constructor(readonly node: string) {}

  /** Why it cannot be reached at present. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  observe(observer: NodeObserver): () => void {
    this.#observers.add(observer);
    if (this.#trouble !== undefined) observer.nodeDown(this.node, this.#trouble);
    return () => void this.#observers.delete(observer);
  }

  /** To be called when something is sent to it; returns what to call with its answer, if anyone wants to know. */
  asked(): (() => void) | undefined {
    if (this.#observers.size === 0) return undefined;
    const answered = [...this.#observers].flatMap((observer) => observer.nodeAsked?.(this.node) ?? []);
    return answered.length > 0 ? () => answered.forEach((tell) => tell()) : undefined;
  }

  down(reason: string): void {
    const isNews = this.#trouble === undefined;
    this.#trouble = reason;
    if (isNews) for (const observer of this.#observers) observer.nodeDown(this.node, reason);
  }

  up(): void {
    if (this.#trouble === undefined) return;
    this.#trouble = undefined;
    for (const observer of this.#observers) observer.nodeUp(this.node);
  }
}
