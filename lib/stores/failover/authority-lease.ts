import { Deadline, now, outlasting, validity, type Moment } from '../../deadline.js';
import type { Runtime } from '../../runtime.js';
import type { Authority, AuthorityState } from './authority.js';
import type { AuthorityChange, FailoverTerms } from './failover.options.js';
import type { FallbackStore } from './fallback-store.js';
import { nextMove } from './next-move.js';
import type { RedisHealth } from './redis-health.js';
import { undecided } from './undecided.js';

const LOOKS_PER_LEASE = 3;
/** Of a wall-clock ms; Redis's proposals have this shape. */
const TOKENS_PER_MS = 1000;

/** What this process knows of the authority row, for how long that counts, and the looks that keep it so. */
export class AuthorityLease {
  /** As last read. */
  authority: Authority | undefined;
  /** When the present epoch was first seen, on the monotonic clock. */
  #seenAt = 0;
  /** How long this process may go on with Redis. Only a look that found REDIS prolongs it. */
  #onRedis: Deadline | undefined;
  #ttlMs: number;
  #tokenSeen = 0;
  #failure: string | undefined;
  #looking: Promise<Authority> | undefined;
  #next: Promise<Authority> | undefined;
  #cancel: (() => void) | undefined;
  #closed = false;
  readonly #observers = new Set<(change: AuthorityChange) => void>();

  constructor(
    private readonly fallback: FallbackStore,
    private readonly health: RedisHealth,
    private readonly pod: string,
    ttlMs: number,
    private readonly terms: FailoverTerms,
    private readonly runtime: Runtime,
    private readonly log: (message: string) => void,
  ) {
    this.#ttlMs = ttlMs;
  }

  /** Tells of each change from now on, and at once of who decides at present; returns what ends that. */
  observe(observer: (change: AuthorityChange) => void): () => void {
    this.#observers.add(observer);
    if (this.authority) {
      const { state, epoch, reason } = this.authority;
      observer({ from: undefined, to: state, epoch, reason });
    }
    return () => void this.#observers.delete(observer);
  }

  /** Looks now, and from now on three times per lease. Resolves after the first look, whatever it brought. */
  async start(): Promise<void> {
    void this.health.probe();
    await this.look().catch(() => undefined); // said in the log, and tried again
    if (this.#closed) return;
    this.#cancel = this.runtime.timers.start(() => void this.start(), this.terms.leaseMs / LOOKS_PER_LEASE);
  }

  stop(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  /** Whether Redis may be asked for a lock of this ttl without another look. */
  mayGrant(ttlMs: number): boolean {
    return this.authority?.state === 'REDIS' && ttlMs <= this.authority.ttlMs && this.mayRenew;
  }

  /** Whether a lock on Redis may be renewed: also while a change away from it is under way, until that has to be counted with. */
  get mayRenew(): boolean {
    return (this.#onRedis?.remaining ?? 0) > 0 || this.unchecked;
  }

  /** Going on with Redis although nobody can say whether others do, too. */
  get unchecked(): boolean {
    return this.terms.available && this.#failure !== undefined && (this.authority?.state ?? 'REDIS') === 'REDIS';
  }

  /** Whether a grant of Redis, asked for in this epoch, counts. */
  confirms(epoch: number | undefined, fencingToken: number): boolean {
    const { authority } = this;
    if (this.unchecked) return true;
    return authority?.epoch === epoch && this.mayGrant(0) && fencingToken <= authority!.tokenCeiling;
  }

  /** In DRAINING: nobody can get anything from Redis any more, so what one still holds nobody else does. */
  get redisIsClosed(): boolean {
    return this.authority?.state === 'DRAINING' && this.#sinceSeen >= outlasting(this.authority.leaseMs);
  }

  /** What the next look has to announce. */
  announce(ttlMs: number, fencingToken = 0): void {
    this.#ttlMs = Math.max(this.#ttlMs, Math.ceil(ttlMs));
    this.#tokenSeen = Math.max(this.#tokenSeen, fencingToken);
  }

  /** A look that begins after this call; calls meanwhile share it. Rejects when the row is out of reach. */
  look(): Promise<Authority> {
    if (!this.#looking) return this.#begin();
    this.#next ??= this.#looking.then(
      () => this.#begin(),
      () => this.#begin(),
    );
    return this.#next;
  }

  /**
   * The state, after a look. Where the row is out of reach, Redis goes on if it may.
   * @throws LockUnavailableError
   */
  async stateFor(key: string): Promise<AuthorityState> {
    try {
      return (await this.look()).state;
    } catch (error) {
      if (this.unchecked) return 'REDIS';
      throw undecided(key, `the authority row is out of reach: ${(error as Error).message}`);
    }
  }

  #begin(): Promise<Authority> {
    this.#next = undefined;
    return (this.#looking = this.#look().finally(() => (this.#looking = undefined)));
  }

  async #look(): Promise<Authority> {
    try {
      const authority = await this.#ask(() => this.fallback.consult(this.#report()));
      const { leaseMs, ttlMs } = authority;
      const drained = this.#sinceSeen >= outlasting(leaseMs + ttlMs);
      const move = nextMove(authority, drained, this.health.trouble);
      if (!move || this.#closed) return authority;
      return await this.#ask(() => this.fallback.move(authority.epoch, move.to, move.reason));
    } catch (error) {
      this.#fail((error as Error).message);
      throw error;
    }
  }

  async #ask(question: () => Promise<Authority>): Promise<Authority> {
    const sentAt = now(this.runtime.clock);
    const authority = await question();
    this.#learn(authority, sentAt);
    return authority;
  }

  #report() {
    const { leaseMs } = this.terms;
    const ownClock = Math.ceil(this.runtime.clock.wall()) * TOKENS_PER_MS + (this.authority?.tokenLead ?? 0);
    const tokenSeen = Math.max(this.#tokenSeen, ownClock);
    return { pod: this.pod, leaseMs, ttlMs: this.#ttlMs, tokenSeen, redis: this.health.state, countsForMs: leaseMs };
  }

  #learn(authority: Authority, sentAt: Moment): void {
    const before = this.authority;
    this.authority = authority;
    if (before?.epoch !== authority.epoch) {
      this.#seenAt = this.runtime.clock.monotonic();
      const { epoch, state, reason } = authority;
      if (before || state !== 'REDIS') this.log(`Locks are now decided by ${state} (epoch ${epoch}): ${reason}`);
      this.#tell({ from: before?.state, to: state, epoch, reason });
    }
    if (authority.state === 'REDIS') {
      this.#onRedis = new Deadline(this.runtime.clock, sentAt, validity(this.terms.leaseMs));
    }
    if (this.#failure !== undefined) this.log('The authority row is within reach again');
    this.#failure = undefined;
  }

  /** A listener's own error must not pass for an outage of the row. */
  #tell(change: AuthorityChange): void {
    for (const observer of this.#observers) observer(change);
    try {
      this.terms.onAuthorityChange(change);
    } catch (error) {
      this.log(`onAuthorityChange threw: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #fail(reason: string): void {
    if (this.#failure === undefined && !this.#closed) {
      const consequence = this.terms.available
        ? 'locks on Redis go on unchecked, and two holders can meet if others switch'
        : 'locks on Redis stop when the lease on it is over';
      this.log(`The authority row is out of reach, so ${consequence}: ${reason}`);
    }
    this.#failure = reason;
  }

  /** By the monotonic clock alone: a wall clock that is set forward must not cut a wait short. */
  get #sinceSeen(): number {
    return this.runtime.clock.monotonic() - this.#seenAt;
  }
}
