import type { NodeFailure } from '../../errors.js';
import { toFailure } from './ailment.js';
import type { Asker, LockNode, NodeReply, NodeRequest } from './lock-node.js';
import type { NodeGroup } from './node-group.js';

export interface Vote {
  readonly node: LockNode;
  readonly reply: NodeReply;
}

/** One request to several nodes at once, and their answers so far. Its outcome is there as soon as `count` can tell it. */
export abstract class Round<R> implements Asker {
  readonly yes: Vote[] = [];
  readonly no: Vote[] = [];
  readonly failures: NodeFailure[] = [];
  /** Nodes that may still answer. */
  open = 0;
  #resolve!: (outcome: R) => void;
  #reject!: (error: unknown) => void;

  constructor(
    protected readonly group: NodeGroup,
    protected readonly request: NodeRequest,
  ) {}

  /** Asks them, once. */
  ask(nodes: readonly LockNode[]): Promise<R> {
    const outcome = new Promise<R>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.open = nodes.length;
    const { verb, ms } = this.request;
    const timeoutMs = this.group.timeoutMs(verb, ms);
    const spare = this.group.spares(verb);
    for (const node of nodes) node.send(this.request, timeoutMs, this, spare);
    return outcome;
  }

  answered(node: LockNode, reply: NodeReply): void {
    if (reply.status === 'yes') this.yes.push({ node, reply });
    else if (reply.status === 'no') this.no.push({ node, reply });
    else this.failures.push(abstention(node.name, this.group.clock.wall() + reply.value));
    this.#settle();
  }

  failed(node: LockNode, reason: string): void {
    this.failures.push(toFailure(node.name, reason));
    this.#settle();
  }

  late(_node: LockNode, _reply: NodeReply): void {
    // Mostly of no use to anybody.
  }

  /**
   * The outcome, if it is known by now. Called after each answer, after the outcome as well; it must tell, or throw, when none is open.
   */
  protected abstract count(): R | undefined;

  protected settled(outcome: R): void {
    this.#resolve(outcome);
  }

  protected gaveUp(error: unknown): void {
    this.#reject(error);
  }

  #settle(): void {
    this.open--;
    try {
      const outcome = this.count();
      if (outcome !== undefined) this.settled(outcome);
    } catch (error) {
      this.gaveUp(error);
    }
  }
}

function abstention(node: string, untilMs: number): NodeFailure {
  return { node, reason: `in quarantine until ${new Date(untilMs).toISOString()}, since it came up empty`, untilMs };
}
