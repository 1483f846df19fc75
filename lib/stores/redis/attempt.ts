import { LockUnavailableError } from '../../errors.js';
import type { AcquireResult } from '../lock-store.js';
import { Consent } from './consent.js';
import type { LockNode, NodeReply, NodeRequest, TurnEar } from './lock-node.js';
import type { NodeGroup } from './node-group.js';
import { Round } from './round.js';
import { mostOfOneHolder } from './tally.js';

/** One attempt to get a key from a majority of the nodes. What it does not come to hold it gives back, on all of them. */
export class Attempt extends Round<AcquireResult> {
  #abandoned = false;
  #counted = false;

  constructor(
    group: NodeGroup,
    request: NodeRequest,
    /** Where it is expected to get its turn, if it stands in line while it is refused. */
    private readonly turns?: TurnEar,
  ) {
    super(group, request);
  }

  override late(node: LockNode, reply: NodeReply): void {
    if (this.#abandoned && reply.status === 'yes') this.#undo(node);
  }

  /** Granted, refused, or not known yet. Throws when too few nodes took part to say either. */
  protected override count(): AcquireResult | undefined {
    const { quorum } = this.group;
    const { yes, no, open } = this;
    if (this.#abandoned) for (const { node } of yes.splice(0)) this.#undo(node);
    if (this.#counted) return undefined;
    if (yes.length >= quorum) return this.#granted();
    if (yes.length + open >= quorum) return undefined;
    if (yes.length + no.length + open < quorum) throw new LockUnavailableError(this.request.key, this.failures);
    const undecided = mostOfOneHolder(no) < quorum;
    // Nobody is seen to have a majority yet: the nodes that are still to answer may show one.
    return undecided && open > 0 ? undefined : this.#refused(undecided);
  }

  protected override gaveUp(error: unknown): void {
    // What it may still get is undone, so it must not be taken for a turn.
    this.turns?.forget(this.request.owner);
    this.#abandon(this.group.nodes);
    super.gaveUp(error);
  }

  #granted(): AcquireResult | undefined {
    this.#counted = true;
    let fencingToken = 0;
    for (const { reply } of this.yes) fencingToken = Math.max(fencingToken, reply.value);
    const behind = this.yes.filter(({ reply }) => reply.value !== fencingToken);
    const agreed = this.yes.length - behind.length;
    if (agreed >= this.group.quorum) return this.#grant(fencingToken);
    const nodes = behind.map(({ node }) => node);
    this.#commit(fencingToken, nodes, agreed).then(
      (committed) => {
        if (committed) return this.settled(this.#grant(fencingToken));
        this.#abandon(this.group.nodes);
        this.settled({ acquired: false, undecided: true });
      },
      (error: unknown) => this.gaveUp(error),
    );
    return undefined;
  }

  /**
   * Makes `token` the fence of the nodes `behind`, too, so that with those that `agreed` already it is the fence of a majority. A node counts only if its owner
   * still holds there and no later token has passed.
   */
  #commit(token: number, behind: readonly LockNode[], agreed: number): Promise<boolean> {
    const { key, owner, ms } = this.request;
    return new Consent(this.group, { verb: 'commit', key, owner, ms, token }, agreed).ask(behind);
  }

  #grant(fencingToken: number): AcquireResult {
    this.turns?.forget(this.request.owner);
    return { acquired: true, fencingToken };
  }

  #refused(undecided: boolean): AcquireResult {
    this.#counted = true;
    // A node that refused has nothing of ours. The others may have, those included that have not answered.
    const refusedBy = this.no.map(({ node }) => node);
    this.#abandon(this.group.nodes.filter((node) => !refusedBy.includes(node)));
    if (undecided) return { acquired: false, undecided: true };
    const retryAfterMs = this.#freeAfterMs();
    const inLine = this.turns ? { inLine: true } : {};
    return retryAfterMs > 0 ? { acquired: false, retryAfterMs, ...inLine } : { acquired: false, ...inLine };
  }

  /** Free at the latest when a majority of nodes is; 0 if that is not known. */
  #freeAfterMs(): number {
    const { group, no } = this;
    const others = Array<number>(group.nodes.length - no.length).fill(0);
    const waits = no.map(({ reply }) => (reply.value > 0 ? reply.value : Number.POSITIVE_INFINITY));
    const freeAfterMs = [...others, ...waits].sort((a, b) => a - b)[group.quorum - 1]!;
    return Number.isFinite(freeAfterMs) ? freeAfterMs : 0;
  }

  #abandon(nodes: readonly LockNode[]): void {
    this.#abandoned = true;
    this.#counted = true;
    for (const node of nodes) this.#undo(node);
  }

  /** Out of reach: the key frees itself there at its ttl. */
  #undo(node: LockNode): void {
    this.group.tell(node, 'undo', this.request.key, this.request.owner);
  }
}
