import { LockUnavailableError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { PrimaryStore } from '../failover/primary-store.js';
import type { AcquireResult, LockState, Place } from '../lock-store.js';
import { agreeing, ofPlace } from './free-channel.js';
import type { LockNode, NodeRequest, NodeVerb } from './lock-node.js';
import { poll, type Ballot, type Vote } from './poll.js';
import { mostOfOneHolder, stateOf } from './tally.js';

export interface RedlockTerms {
  /** How long one node may take to answer, in ms; never more than a third of the ttl. */
  readonly nodeTimeoutMs: number;
  /** How long a node that came up empty abstains, in ms; here only to say which locks that does not cover. */
  readonly quarantineMs: number;
  readonly log: (message: string) => void;
}

/** A round trip that takes more than this part of the ttl is of no use to the lease. */
const TIMEOUTS_PER_TTL = 3;
/** Of the command of a script, as old and new versions say it. */
const NOT_PERMITTED = /NOPERM|can't run this command/;
/** Of a wall-clock ms, so that two processes in the same ms rarely propose the same token. */
const PROPOSALS_PER_MS = 1000;

type Outcome =
  | { readonly granted: true; readonly votes: readonly Vote[] }
  | { readonly granted: false; readonly refusedBy: readonly Vote[]; readonly undecided: boolean };

/**
 * Locks on a majority of independent nodes; with one node, a plain lock on that node. After Redlock (redis.io, "Distributed Locks with Redis"),
 * with a second round that makes the fencing token the same on a majority; docs/safety.md says why that suffices.
 */
export class RedlockStore implements PrimaryStore {
  readonly #quorum: number;
  /** Renewals whose answers still come in. A release supersedes them, or they might heal back a key that it has just freed. */
  readonly #renewals = new Map<string, { superseded: boolean }>();
  #lastProposal = 0;
  /** How far proposals are ahead of the clock. */
  #lead = 0;
  #toldUncovered = false;
  #lineRefused = false;
  /** With one node there is one line. Several nodes would each keep another, and lead each other's first ones in at the same time. */
  readonly leave?: (key: string, place: string) => void;

  constructor(
    private readonly nodes: readonly LockNode[],
    private readonly terms: RedlockTerms,
    private readonly runtime: Runtime,
  ) {
    this.#quorum = Math.floor(nodes.length / 2) + 1;
    const [lone] = nodes;
    if (nodes.length === 1 && lone?.lines) {
      this.leave = (key, place) => void this.#send(lone, 'leave', key, place, 0).catch(() => undefined); // its turn passes by
    }
  }

  async acquire(key: string, owner: string, ttlMs: number, place?: Place): Promise<AcquireResult> {
    this.#tellUncovered(ttlMs);
    const inLine =
      place !== undefined && this.leave !== undefined && !this.#lineRefused && this.nodes[0]!.hears?.(key) === true;
    let abandoned = false;
    const undo = ({ node }: { readonly node: LockNode }): void => {
      // Out of reach: the key frees itself there at its ttl.
      this.#send(node, 'undo', key, owner, 0).catch(() => undefined);
    };
    const abandon = (nodes: readonly LockNode[]): void => {
      abandoned = true;
      for (const node of nodes) undo({ node });
    };
    const count = (ballot: Ballot): Outcome | undefined => {
      if (!abandoned) return this.#outcome(key, ballot);
      ballot.yes.splice(0).forEach(undo);
      return undefined;
    };
    const late = (vote: Vote): void => {
      if (abandoned && vote.reply.status === 'yes') undo(vote);
    };
    try {
      const request = { key, owner, ms: ttlMs, token: this.#propose() };
      const asked: NodeRequest = inLine
        ? { ...request, verb: 'queue', place: `${place!.more ? '+' : '-'}${place!.id}` }
        : { ...request, verb: 'acquire' };
      const outcome = await poll(this.nodes, asked, this.#timeout('acquire', ttlMs), this.runtime.clock, count, late);
      if (!outcome.granted) {
        // A node that refused has nothing of ours. The others may have, those included that have not answered.
        const refused = new Set(outcome.refusedBy.map(({ node }) => node));
        abandon(this.nodes.filter((node) => !refused.has(node)));
        if (outcome.undecided) return { acquired: false, undecided: true };
        return inLine ? { ...this.#busy(outcome.refusedBy), inLine } : this.#busy(outcome.refusedBy);
      }
      const fencingToken = Math.max(...outcome.votes.map(({ reply }) => reply.value));
      const behind = outcome.votes.filter(({ reply }) => reply.value !== fencingToken).map(({ node }) => node);
      const agreed = outcome.votes.length - behind.length;
      if (agreed >= this.#quorum || (await this.#commit(key, owner, ttlMs, fencingToken, behind, agreed))) {
        return inLine ? { acquired: true, fencingToken, inLine: place!.more } : { acquired: true, fencingToken };
      }
      abandon(this.nodes);
      return { acquired: false, undecided: true };
    } catch (error) {
      abandon(this.nodes);
      // Its user may lock, but not keep a line: the next attempt is a plain one.
      this.#lineRefused ||= inLine && NOT_PERMITTED.test((error as Error).message);
      throw error;
    }
  }

  async renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    const renewal = { superseded: false };
    this.#renewals.set(owner, renewal);
    return this.#poll(this.nodes, 'renew', key, owner, ttlMs, 0, (ballot) => {
      if (ballot.open === 0 && this.#renewals.get(owner) === renewal) this.#renewals.delete(owner);
      const ours = this.#agreed(key, ballot);
      if (ours && !renewal.superseded) {
        // A majority still has it, so it is ours to give back to nodes that lost it, with its fence.
        const fence = Math.max(...ballot.yes.map(({ reply }) => reply.value));
        for (const { node } of ballot.no.splice(0)) {
          this.#send(node, 'heal', key, owner, ttlMs, fence).catch(() => undefined); // the next renewal tries again
        }
      }
      return ours;
    });
  }

  async release(key: string, owner: string, keepForMs = 0): Promise<boolean> {
    const renewal = this.#renewals.get(owner);
    if (renewal) renewal.superseded = true;
    return this.#poll(this.nodes, 'release', key, owner, keepForMs, 0, (ballot) => this.#agreed(key, ballot));
  }

  async raise(key: string, owner: string, fencingToken: number): Promise<boolean> {
    return this.#poll(this.nodes, 'commit', key, owner, 0, fencingToken, (ballot) => this.#agreed(key, ballot));
  }

  proposeAbove(fencingToken: number, lead = this.#lead): void {
    this.#lead = lead;
    this.#lastProposal = Math.max(this.#lastProposal, fencingToken);
  }

  together<T>(ask: () => T): T {
    for (const node of this.nodes) node.cork?.();
    try {
      return ask();
    } finally {
      for (const node of this.nodes) node.uncork?.();
    }
  }

  onFree(key: string, wake: () => void, place?: string): () => void {
    const told = this.leave ? ofPlace(place, wake) : agreeing(this.#quorum, wake);
    const stops = this.nodes.map((node) => node.onFree?.(key, told));
    return () => stops.forEach((stop) => stop?.());
  }

  async inspect(key: string): Promise<LockState> {
    return this.#poll(this.nodes, 'inspect', key, '', 0, 0, (ballot) => stateOf(key, ballot, this.#quorum));
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.close()));
  }

  /**
   * Makes `token` the fence of the nodes `behind`, too, so that with those that `agreed` already it is the fence of a majority. A node counts only if its owner
   * still holds there and no later token has passed.
   */
  #commit(
    key: string,
    owner: string,
    ttlMs: number,
    token: number,
    behind: readonly LockNode[],
    agreed: number,
  ): Promise<boolean> {
    return this.#poll(behind, 'commit', key, owner, ttlMs, token, (ballot) => this.#agreed(key, ballot, agreed));
  }

  /** Granted, refused, or not known yet. Throws when too few nodes took part to say either. */
  #outcome(key: string, { yes, no, failures, open }: Ballot): Outcome | undefined {
    if (yes.length >= this.#quorum) return { granted: true, votes: [...yes] };
    if (yes.length + open >= this.#quorum) return undefined;
    if (yes.length + no.length + open < this.#quorum) throw new LockUnavailableError(key, failures);
    const undecided = mostOfOneHolder(no) < this.#quorum;
    // Nobody is seen to have a majority yet: the nodes that are still to answer may show one.
    return undecided && open > 0 ? undefined : { granted: false, refusedBy: [...no], undecided };
  }

  /** True once a majority said yes; false once none can any more, even with the silent nodes; throws when nobody can tell. */
  #agreed(key: string, { yes, failures, open }: Ballot, already = 0): boolean | undefined {
    const agreed = yes.length + already;
    if (agreed >= this.#quorum) return true;
    if (agreed + failures.length + open < this.#quorum) return false;
    if (open === 0) throw new LockUnavailableError(key, failures);
    return undefined;
  }

  /** Free at the latest when a majority of nodes is. */
  #busy(refusedBy: readonly Vote[]): AcquireResult {
    const others = Array<number>(this.nodes.length - refusedBy.length).fill(0);
    const waits = refusedBy.map(({ reply }) => (reply.value > 0 ? reply.value : Number.POSITIVE_INFINITY));
    const retryAfterMs = [...others, ...waits].sort((a, b) => a - b)[this.#quorum - 1]!;
    return Number.isFinite(retryAfterMs) && retryAfterMs > 0 ? { acquired: false, retryAfterMs } : { acquired: false };
  }

  #propose(): number {
    const { clock, random } = this.runtime;
    const shaped =
      Math.floor(clock.wall()) * PROPOSALS_PER_MS + Math.floor(random.fraction() * PROPOSALS_PER_MS) + this.#lead;
    // Above the last one, even if the clock stands still or goes back: nodes that came up empty know no better.
    return (this.#lastProposal = Math.max(this.#lastProposal + 1, shaped));
  }

  #poll<R>(
    nodes: readonly LockNode[],
    verb: NodeVerb,
    key: string,
    owner: string,
    ms: number,
    token: number,
    count: (ballot: Ballot) => R | undefined,
    late?: (vote: Vote) => void,
  ): Promise<R> {
    const request = { verb, key, owner, ms, token };
    return poll(nodes, request, this.#timeout(verb, ms), this.runtime.clock, count, late);
  }

  #send(node: LockNode, verb: NodeVerb, key: string, owner: string, ms: number, token = 0): Promise<unknown> {
    return node.send({ verb, key, owner, ms, token }, this.#timeout(verb, ms));
  }

  #timeout(verb: NodeVerb, ms: number): number {
    const { nodeTimeoutMs } = this.terms;
    const leased = ms > 0 && verb !== 'release';
    return leased ? Math.min(nodeTimeoutMs, ms / TIMEOUTS_PER_TTL) : nodeTimeoutMs;
  }

  #tellUncovered(ttlMs: number): void {
    const { quarantineMs, log } = this.terms;
    if (this.#toldUncovered || quarantineMs === 0 || ttlMs <= quarantineMs) return;
    this.#toldUncovered = true;
    log(
      `A lock with a ttl of ${ttlMs} ms outlasts the quarantine of ${quarantineMs} ms: should a node come up empty, it can let a second holder in. ` +
        'Set `quarantine` to the longest ttl in use.',
    );
  }
}
