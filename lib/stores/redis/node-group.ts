import type { Clock } from '../../runtime.js';
import type { Asker, LockNode, NodeVerb } from './lock-node.js';

/** A round trip that takes more than this part of the ttl is of no use to the lease. */
const TIMEOUTS_PER_TTL = 3;

/** For what is sent without waiting for its answer. */
export const NOBODY: Asker = { answered: () => undefined, failed: () => undefined, late: () => undefined };

/** The independent nodes of one store, and how to ask them. */
export class NodeGroup {
  /** How many are a majority. */
  readonly quorum: number;

  constructor(
    readonly nodes: readonly LockNode[],
    private readonly nodeTimeoutMs: number,
    readonly clock: Pick<Clock, 'wall'>,
  ) {
    this.quorum = Math.floor(nodes.length / 2) + 1;
  }

  timeoutMs(verb: NodeVerb, ms: number): number {
    const leased = ms > 0 && verb !== 'release';
    return leased ? Math.min(this.nodeTimeoutMs, ms / TIMEOUTS_PER_TTL) : this.nodeTimeoutMs;
  }

  /** Whether a node that is out can be spared: that costs nothing, where asking it in vain costs time and memory. A commit goes to the few that matter. */
  spares(verb: NodeVerb): boolean {
    if (verb === 'commit') return false;
    let well = 0;
    for (const { out } of this.nodes) if (!out) well++;
    return well >= this.quorum;
  }

  /** Sends what nobody waits for. */
  tell(node: LockNode, verb: NodeVerb, key: string, owner: string, ms = 0, token = 0): void {
    node.send({ verb, key, owner, ms, token }, this.timeoutMs(verb, ms), NOBODY, true);
  }
}
