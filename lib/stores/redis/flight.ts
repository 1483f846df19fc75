import type { Timers } from '../../runtime.js';
import type { Asker, LockNode, NodeRequest } from './lock-node.js';

/** One who waits for an answer, for so long. */
export interface Awaited {
  /** Only of one that was asked for by itself. */
  readonly request?: NodeRequest;
  readonly timeoutMs: number;
  readonly asker: Pick<Asker, 'failed'>;
  overdue: boolean;
}

/** One request that waits for its answer. */
export interface Pending extends Awaited {
  readonly request: NodeRequest;
  readonly asker: Asker;
  /** Whether it must be in one script with the one before. */
  joined: boolean;
}

/** One script on its way, and who waits for what is in it: each is told that it is overdue when its time is up. */
export class Flight {
  /** Whether any of them has been told so. */
  overdue = false;
  #landed = false;
  #elapsedMs = 0;
  #cancel: () => void;

  constructor(
    readonly awaited: readonly Awaited[],
    private readonly node: LockNode,
    private readonly timers: Timers,
    private readonly onOverdue: (why: string | undefined) => void,
    /** Tells, in a moment, why there is no answer. */
    private readonly explain?: () => Promise<string | undefined>,
  ) {
    this.#cancel = this.#wait();
  }

  get abandoned(): boolean {
    return this.awaited.every(({ overdue }) => overdue);
  }

  /** The answer, good or bad, is here. */
  land(): void {
    this.#landed = true;
    this.#cancel();
  }

  #wait(): () => void {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { timeoutMs, overdue } of this.awaited) if (!overdue) nextMs = Math.min(nextMs, timeoutMs);
    const delayMs = nextMs - this.#elapsedMs;
    this.#elapsedMs = nextMs;
    const judge = (): unknown =>
      // A process that was held up finds its timers due before it has read its sockets: read first, then judge.
      this.explain ? this.explain().then((why) => this.#expire(why)) : setImmediate(() => this.#expire());
    return this.timers.start(() => void judge(), delayMs, true);
  }

  #expire(why?: string): void {
    if (this.#landed) return;
    for (const pending of this.awaited) {
      if (pending.overdue || pending.timeoutMs > this.#elapsedMs) continue;
      pending.overdue = true;
      const silence = `no answer within ${Math.round(pending.timeoutMs)} ms`;
      pending.asker.failed(this.node, why === undefined ? silence : `${why} (${silence})`);
    }
    if (!this.overdue) this.onOverdue(why);
    this.overdue = true;
    if (!this.abandoned) this.#cancel = this.#wait();
  }
}
