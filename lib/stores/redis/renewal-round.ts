import { LockUnavailableError, type NodeFailure } from '../../errors.js';
import type { Lease } from '../lock-store.js';
import { toFailure } from './ailment.js';
import { fenceName, lockName } from './key-names.js';
import type { LockNode, NodeRenewals, RenewalAsker } from './lock-node.js';
import type { NodeGroup } from './node-group.js';
import { settle } from '../settle.js';

/** A fence outlives its lock by a day, so it need not be touched with each renewal: that would cost as much again. */
const FENCE_EVERY_MS = 3_600_000;
/** At least. */
const RENEWALS_PER_TTL = 3;

/** Renews one lock by itself, which settles all that a round leaves open, and heals. */
export type RenewAlone = (lease: Lease) => Promise<boolean>;

/**
 * The renewal of many locks at once, one script per node. A lock that every node of a majority renewed is settled here; what some node refused is asked for
 * again by itself: that tells whose it is, and gives it back to nodes that lost it.
 */
export class RenewalRound implements RenewalAsker {
  #answered = 0;
  readonly #refused = new Set<number>();
  readonly #failures: NodeFailure[] = [];

  constructor(
    private readonly leases: readonly Lease[],
    private readonly group: NodeGroup,
    private readonly renewAlone: RenewAlone,
  ) {}

  send(ttlMs: number): void {
    const renewals = asNodesAreAsked(this.leases, ttlMs);
    const timeoutMs = this.group.timeoutMs('renew', ttlMs);
    const spare = this.group.spares('renew');
    for (const node of this.group.nodes) node.renewAll!(renewals, timeoutMs, this, spare);
  }

  renewed(_node: LockNode, refused: readonly number[]): void {
    const { quorum } = this.group;
    const settled = this.#answered >= quorum;
    this.#answered++;
    for (const place of refused) {
      if (this.#refused.has(place)) continue;
      this.#refused.add(place);
      // Renewed by the others: this is for the node that lost it. If it fails, the next renewal tries again.
      if (settled) this.#alone(this.leases[place]!).catch(() => undefined);
    }
    if (this.#answered === quorum) this.#settle();
  }

  failed({ name }: LockNode, reason: string): void {
    const { nodes, quorum } = this.group;
    this.#failures.push(toFailure(name, reason));
    // Told once: with this one a majority has become impossible.
    if (this.#failures.length !== nodes.length - quorum + 1) return;
    for (const lease of this.leases) lease.unclear(new LockUnavailableError(lease.key, this.#failures));
  }

  #settle(): void {
    for (let place = 0; place < this.leases.length; place++) {
      const lease = this.leases[place]!;
      if (!this.#refused.has(place)) lease.renewed(true);
      else {
        settle(lease, this.#alone(lease));
      }
    }
  }

  /** Nothing may be sent for a lock after its release. */
  async #alone(lease: Lease): Promise<boolean> {
    return !lease.over && this.renewAlone(lease);
  }
}

/** Made once for all nodes. */
function asNodesAreAsked(leases: readonly Lease[], ms: number): NodeRenewals {
  const names: string[] = [];
  const fences: string[] = [];
  let owners = '';
  const often = Math.max(1, Math.floor((FENCE_EVERY_MS * RENEWALS_PER_TTL) / ms));
  for (const { key, owner, renewals } of leases) {
    names.push(lockName(key));
    if ((renewals + 1) % often === 0) fences.push(fenceName(key));
    owners += `${owner}\n`;
  }
  return { names: fences.length > 0 ? names.concat(fences) : names, owners, ms };
}
