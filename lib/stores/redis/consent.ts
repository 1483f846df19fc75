import { LockUnavailableError } from '../../errors.js';
import type { LockNode, NodeRequest } from './lock-node.js';
import type { NodeGroup } from './node-group.js';
import { Round } from './round.js';

/** Whether a majority does what only the owner of a key may ask for. */
export class Consent extends Round<boolean> {
  constructor(
    group: NodeGroup,
    request: NodeRequest,
    /** How many nodes need not be asked, since they have done so already. */
    private readonly already = 0,
  ) {
    super(group, request);
  }

  /** True once a majority said yes; false once none can any more, even with the silent nodes; throws when nobody can tell. */
  protected override count(): boolean | undefined {
    const agreed = this.yes.length + this.already;
    if (agreed >= this.group.quorum) return true;
    if (agreed + this.failures.length + this.open < this.group.quorum) return false;
    if (this.open === 0) throw new LockUnavailableError(this.request.key, this.failures);
    return undefined;
  }
}

/** A renewal: once a majority renewed, nodes that lost the key get it back. */
export class Renewal extends Consent {
  /** After the release it must not heal back what that frees. */
  superseded = false;

  constructor(
    group: NodeGroup,
    request: NodeRequest,
    private readonly ended: (renewal: Renewal) => void,
  ) {
    super(group, request);
  }

  get owner(): string {
    return this.request.owner;
  }

  protected override count(): boolean | undefined {
    if (this.open === 0) this.ended(this);
    const ours = super.count();
    if (ours && !this.superseded && this.no.length > 0) for (const { node } of this.no.splice(0)) this.#heal(node);
    return ours;
  }

  /** A majority still has it, so it is ours to give back, with its fence. If that fails, the next renewal tries again. */
  #heal(node: LockNode): void {
    const { key, owner, ms } = this.request;
    const fence = Math.max(...this.yes.map(({ reply }) => reply.value));
    this.group.tell(node, 'heal', key, owner, ms, fence);
  }
}
