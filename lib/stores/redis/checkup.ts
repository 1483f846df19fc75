import type { Clock } from '../../runtime.js';
import type { NodeHealth } from '../store-health.js';
import { MARK, type Asker, type LockNode, type NodeReply } from './lock-node.js';

/** One question to one node: whether it answers, how fast, and whether it is in quarantine. It is asked also while it counts as out. */
export class Checkup implements Asker {
  readonly #askedAt: number;

  private constructor(
    private readonly clock: Clock,
    private readonly settle: (health: NodeHealth) => void,
  ) {
    this.#askedAt = clock.monotonic();
  }

  static of(node: LockNode, timeoutMs: number, clock: Clock): Promise<NodeHealth> {
    const reason = node.unfit?.();
    if (reason !== undefined) return Promise.resolve({ node: node.name, state: 'down', reason });
    return new Promise((resolve) => node.send(MARK, timeoutMs, new Checkup(clock, resolve)));
  }

  answered({ name }: LockNode, reply: NodeReply): void {
    const latencyMs = this.clock.monotonic() - this.#askedAt;
    // A node without a quarantine answers 0, one whose quarantine is over something negative.
    if (reply.value <= 0) return this.settle({ node: name, state: 'up', latencyMs });
    const untilMs = Math.round(this.clock.wall() + reply.value);
    this.settle({ node: name, state: 'quarantine', latencyMs, reason: 'it came back empty', untilMs });
  }

  failed({ name }: LockNode, reason: string): void {
    this.settle({ node: name, state: 'down', reason });
  }

  late(): void {}
}
