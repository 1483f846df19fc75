import type { NodeFailure } from '../../errors.js';
import type { LockNode, NodeReply, NodeRequest } from './lock-node.js';

export interface Vote {
  readonly node: LockNode;
  readonly reply: NodeReply;
}

/** The answers of one round so far. */
export class Ballot {
  readonly yes: Vote[] = [];
  readonly no: Vote[] = [];
  readonly failures: NodeFailure[] = [];
  /** Nodes that may still answer. */
  open: number;

  constructor(nodes: number) {
    this.open = nodes;
  }
}

/**
 * Asks all nodes at once, and resolves as soon as `count` can tell the outcome. `count` is called after each answer, after the outcome as well;
 * it must tell (or throw) when none is open. Answers that come after a node's time-out go to `late`.
 */
export function poll<R>(
  nodes: readonly LockNode[],
  request: NodeRequest,
  timeoutMs: number,
  clock: { wall(): number },
  count: (ballot: Ballot) => R | undefined,
  late?: (vote: Vote) => void,
): Promise<R> {
  return new Promise((resolve, reject) => {
    const ballot = new Ballot(nodes.length);
    const settle = (): void => {
      ballot.open--;
      try {
        const outcome = count(ballot);
        if (outcome !== undefined) resolve(outcome);
      } catch (error) {
        reject(error as Error);
      }
    };
    for (const node of nodes) {
      node.send(request, timeoutMs, late && ((reply) => late({ node, reply }))).then(
        (reply) => {
          if (reply.status === 'yes') ballot.yes.push({ node, reply });
          else if (reply.status === 'no') ballot.no.push({ node, reply });
          else ballot.failures.push(abstention(node.name, clock.wall() + reply.value));
          settle();
        },
        (error: unknown) => {
          ballot.failures.push({ node: node.name, reason: (error as Error).message });
          settle();
        },
      );
    }
  });
}

function abstention(node: string, untilMs: number): NodeFailure {
  return { node, reason: `in quarantine until ${new Date(untilMs).toISOString()}, since it came up empty`, untilMs };
}
