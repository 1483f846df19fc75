import type { NodeReply, NodeRequest } from '../../../../lib/stores/redis/lock-node.js';
import { LinedNode } from './lined-node.js';

/** Gives out fence + 1 whatever was proposed. Sound while no node forgets: the control for the variants below. */
export class CounterNode extends LinedNode {
  protected override nextToken(key: string): number {
    return this.fence(key) + 1;
  }
}

/** INCR on each node and the maximum at the client: agrees to every commit and remembers none. */
export class CommitlessNode extends CounterNode {
  protected override commit(): NodeReply {
    return { status: 'yes', value: 0 };
  }

  protected override notHeld(request: NodeRequest): NodeReply {
    return request.verb === 'commit' ? this.commit() : super.notHeld(request);
  }
}

/** Writes the token back without looking whose lock it is by now. */
export class OwnerlessCommitNode extends CounterNode {
  protected override notHeld(request: NodeRequest): NodeReply {
    return request.verb === 'commit' ? this.commit(request) : super.notHeld(request);
  }
}

/** Agrees, with the higher of the two, to a commit that its fence has passed. */
export class MaximumCommitNode extends CounterNode {
  protected override commit({ key, token }: NodeRequest): NodeReply {
    this.remember(key, Math.max(this.fence(key), token), Math.max(this.remaining(key), 0));
    return { status: 'yes', value: 0 };
  }
}

/** Gives a key that is free back to whoever renews it, as if that had been a renewal. */
export class HealingRenewalNode extends LinedNode {
  protected override notHeld(request: NodeRequest): NodeReply {
    if (request.verb !== 'renew' || this.holder(request.key) !== undefined) return super.notHeld(request);
    this.write(this.locks, request.key, request.owner, request.ms);
    return { status: 'yes', value: this.fence(request.key) };
  }
}

/** Releases whatever is there, whoever asks. */
export class OwnerlessReleaseNode extends LinedNode {
  protected override notHeld(request: NodeRequest): NodeReply {
    return request.verb === 'release' || request.verb === 'undo' ? this.release(request) : super.notHeld(request);
  }
}

/** A key that is to stay taken for a while after its release never comes free. */
export class KeepingNode extends LinedNode {
  protected override release(request: NodeRequest): NodeReply {
    return super.release(request.ms > 0 ? { ...request, ms: Number.POSITIVE_INFINITY } : request);
  }
}

/** Gives a turn for as long as the attempt wanted it whose place was taken over. */
export class InheritedTurnNode extends LinedNode {
  protected override turnMs(ms: number, before: number | undefined): number {
    return before ?? super.turnMs(ms, before);
  }
}
