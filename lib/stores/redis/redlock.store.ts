import { now } from '../../deadline.js';
import type { Runtime } from '../../runtime.js';
import type { PrimaryStore } from '../failover/primary-store.js';
import type { AcquireResult, KeyPage, KeyQuery, Lease, LockState, Place, Turn } from '../lock-store.js';
import { ofNodes, type StoreHealth } from '../store-health.js';
import type { StoreObserver } from '../store-observer.js';
import { Attempt } from './attempt.js';
import { Checkup } from './checkup.js';
import { Consent, Renewal } from './consent.js';
import { expel } from './expulsion.js';
import { agreeing } from './free-channel.js';
import { Listing } from './listing.js';
import type { LockNode, NodeRequest, TurnEar } from './lock-node.js';
import { NodeGroup } from './node-group.js';
import { RenewalRound } from './renewal-round.js';
import { look } from './survey.js';
import { settle } from '../settle.js';

export interface RedlockTerms {
  /** How long one node may take to answer, in ms; never more than a third of the ttl. */
  readonly nodeTimeoutMs: number;
  /** How long a node that came up empty abstains, in ms; here only to say which locks that does not cover. */
  readonly quarantineMs: number;
  readonly log: (message: string) => void;
}

/** Of a wall-clock ms, so that two processes in the same ms rarely propose the same token. */
const PROPOSALS_PER_MS = 1000;

/**
 * Locks on a majority of independent nodes; with one node, a plain lock on that node. After Redlock (redis.io, "Distributed Locks with Redis"),
 * with a second round that makes the fencing token the same on a majority; docs/safety.md says why that suffices.
 */
export class RedlockStore implements PrimaryStore {
  readonly #group: NodeGroup;
  /** Renewals whose answers still come in. A release supersedes them, or they might heal back a key that it has just freed. */
  readonly #renewals = new Map<string, Renewal>();
  #lastProposal = 0;
  /** How far proposals are ahead of the clock. */
  #lead = 0;
  #toldUncovered = false;
  /** With one node there is one line. Several nodes would each keep another, and lead each other's first ones in at the same time. */
  readonly #turns: TurnEar | undefined;
  readonly take?: (key: string, owner: string) => Turn | undefined;
  readonly leave?: (key: string, owner: string) => void;
  readonly list?: (query: KeyQuery) => Promise<KeyPage>;

  constructor(
    private readonly nodes: readonly LockNode[],
    private readonly terms: RedlockTerms,
    private readonly runtime: Runtime,
  ) {
    this.#group = new NodeGroup(nodes, terms.nodeTimeoutMs, runtime.clock);
    if (nodes.every((node) => node.scan !== undefined)) this.list = (query) => new Listing(this.#group).page(query);
    const [lone] = nodes;
    if (nodes.length === 1 && lone?.turns) {
      const turns = (this.#turns = lone.turns);
      this.take = (_key, owner) => turns.take(owner, now(runtime.clock));
      this.leave = (key, owner) => {
        turns.forget(owner);
        this.#group.tell(lone, 'leave', key, owner); // if it does not get there, its turn is given up when it comes
      };
      turns.unwanted = this.leave;
    }
  }

  acquire(key: string, owner: string, ttlMs: number, place?: Place): Promise<AcquireResult> {
    if (ttlMs > this.terms.quarantineMs) this.#tellUncovered(ttlMs);
    if (!place) return this.#ask('acquire', key, owner, ttlMs);
    if (place.stands && this.#turns) return this.#stand(this.#turns, key, owner, ttlMs, place);
    // Who does not hear yet asks again as soon as it does.
    if (!this.nodes.some((node) => node.hears?.(key))) return this.#ask('acquire', key, owner, ttlMs);
    return this.#ask('queue', key, owner, ttlMs, '');
  }

  renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    const request: NodeRequest = { verb: 'renew', key, owner, ms: ttlMs, token: 0 };
    const renewal = new Renewal(this.#group, request, this.#renewed);
    this.#renewals.set(owner, renewal);
    return renewal.ask(this.nodes);
  }

  renewAll(leases: readonly Lease[], ttlMs: number): void {
    const alone = ({ key, owner }: Lease): Promise<boolean> => this.renew(key, owner, ttlMs);
    if (this.nodes.every((node) => node.renewAll !== undefined)) {
      new RenewalRound(leases, this.#group, alone).send(ttlMs);
      return;
    }
    for (const lease of leases) {
      settle(lease, alone(lease));
    }
  }

  release(key: string, owner: string, keepForMs = 0): Promise<boolean> {
    if (this.#renewals.size > 0) {
      const renewal = this.#renewals.get(owner);
      if (renewal) renewal.superseded = true;
    }
    return new Consent(this.#group, { verb: 'release', key, owner, ms: keepForMs, token: 0 }).ask(this.nodes);
  }

  raise(key: string, owner: string, fencingToken: number): Promise<boolean> {
    return new Consent(this.#group, { verb: 'commit', key, owner, ms: 0, token: fencingToken }).ask(this.nodes);
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

  onFree(key: string, wake: () => void, owner?: string): () => void {
    if (owner !== undefined && this.#turns) return this.#turns.listen(owner, wake);
    const told = agreeing(this.#group.quorum, wake);
    const stops = this.nodes.map((node) => node.onFree?.(key, told));
    return () => stops.forEach((stop) => stop?.());
  }

  observe(observer: StoreObserver): () => void {
    const stops = this.nodes.map((node) => node.observe?.(observer));
    return () => stops.forEach((stop) => stop?.());
  }

  async check(): Promise<StoreHealth> {
    const timeoutMs = this.#group.timeoutMs('mark', 0);
    const nodes = this.nodes.map((node) => Checkup.of(node, timeoutMs, this.runtime.clock));
    return ofNodes(await Promise.all(nodes), this.#group.quorum);
  }

  inspect(key: string): Promise<LockState> {
    return look(this.#group, key);
  }

  forceRelease(key: string): Promise<boolean> {
    return expel(this.#group, key);
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.close()));
  }

  #stand(turns: TurnEar, key: string, owner: string, ttlMs: number, place: Place): Promise<AcquireResult> {
    const { after = '' } = place;
    turns.forget(after);
    if (turns.expect(owner, now(this.runtime.clock), ttlMs, place))
      return this.#ask('queue', key, owner, ttlMs, `+${after}`, turns);
    // Nobody would hear of its turn.
    if (after !== '') this.leave!(key, after);
    return this.#ask('acquire', key, owner, ttlMs);
  }

  #ask(
    verb: 'acquire' | 'queue',
    key: string,
    owner: string,
    ms: number,
    place?: string,
    turns?: TurnEar,
  ): Promise<AcquireResult> {
    const token = this.#propose();
    const request: NodeRequest =
      place === undefined ? { verb, key, owner, ms, token } : { verb, key, owner, ms, token, place };
    return new Attempt(this.#group, request, turns).ask(this.nodes);
  }

  #propose(): number {
    const { clock, random } = this.runtime;
    const shaped =
      Math.floor(clock.wall()) * PROPOSALS_PER_MS + Math.floor(random.fraction() * PROPOSALS_PER_MS) + this.#lead;
    // Above the last one, even if the clock stands still or goes back: nodes that came up empty know no better.
    return (this.#lastProposal = Math.max(this.#lastProposal + 1, shaped));
  }

  readonly #renewed = (renewal: Renewal): void => {
    if (this.#renewals.get(renewal.owner) === renewal) this.#renewals.delete(renewal.owner);
  };

  #tellUncovered(ttlMs: number): void {
    const { quarantineMs, log } = this.terms;
    if (this.#toldUncovered || quarantineMs === 0) return;
    this.#toldUncovered = true;
    log(
      `A lock with a ttl of ${ttlMs} ms outlasts the quarantine of ${quarantineMs} ms: should a node come up empty, it can let a second holder in. ` +
        'Set `quarantine` to the longest ttl in use.',
    );
  }
}
