import { endOf, now, validity, type Moment } from './deadline.js';
import type { LossReason } from './errors.js';
import { Lock } from './lock.js';
import type { LockTerms } from './lock.options.js';
import type { Clock } from './runtime.js';

export interface Grant {
  readonly keys: readonly [string, ...string[]];
  readonly owner: string;
  readonly fencingToken: number;
  /** Read before the winning attempt was sent: the lease counts from here. */
  readonly sentAt: Moment;
  /** If it is shorter than the ttl at first: then a renewal makes it as long as that, whether or not others follow. */
  readonly leaseMs?: number;
}

const RENEWALS_PER_TTL = 3;
/** How much of the renewal interval a renewal may come early, to go out together with others. */
const SLACK_FACTOR = 0.1;
/** The first renewal after one interval may come with others or be slow; by now a second one has been due. */
const LATE_INTERVALS = 2;
/** After an unclear answer: soon, but not in a hot loop. */
const RETRIES_PER_TTL = 15;
const SHORTEST_RETRY_MS = 5;
const LONGEST_RETRY_MS = 1000;

/** The times of one lock: since when it is held, until when its lease counts, and when to renew it. */
export abstract class TimedLock extends Lock {
  readonly #grantedAt: Moment;
  /** Before the last renewal that succeeded was sent, or the grant. */
  #leasedAt: Moment;
  #leaseMs: number;
  /** When the next renewal is due: so long after that moment. */
  #renewFrom: Moment;
  #renewAfterMs: number;

  protected constructor(
    { sentAt, leaseMs }: Grant,
    protected readonly terms: LockTerms,
    protected readonly clock: Clock,
    at: Moment,
  ) {
    super();
    this.#grantedAt = leaseMs === undefined ? sentAt : at;
    this.#leasedAt = sentAt;
    this.#leaseMs = leaseMs ?? terms.ttlMs;
    this.#renewFrom = sentAt;
    this.#renewAfterMs = this.#intervalMs;
  }

  get ttlMs(): number {
    return this.terms.ttlMs;
  }

  /** Since its grant, in ms, released or not. */
  get heldMs(): number {
    return this.clock.monotonic() - this.#grantedAt.monotonic;
  }

  /** Whether it is renewed, and more than one renewal is missing. */
  get isLate(): boolean {
    const missed = endOf(this.#leasedAt, this.#intervalMs * LATE_INTERVALS, now(this.clock));
    return this.renews && missed <= this.clock.monotonic();
  }

  /** Why it is over by now, if it is. The clock decides, not a timer: after a pause the first look already tells. */
  protected outlived(at: Moment): LossReason | undefined {
    if (endOf(this.#leasedAt, validity(this.#leaseMs), at) <= at.monotonic) return 'expired';
    return endOf(this.#grantedAt, this.terms.maxHoldMs, at) <= at.monotonic ? 'max-hold' : undefined;
  }

  /** When this lock ends unless renewed, on the monotonic clock. */
  protected lostAt(at: Moment): number {
    const leaseEnd = endOf(this.#leasedAt, validity(this.#leaseMs), at);
    return Math.min(leaseEnd, endOf(this.#grantedAt, this.terms.maxHoldMs, at));
  }

  /** When the next renewal is due, on the monotonic clock. */
  protected renewalAt(at: Moment): number {
    return endOf(this.#renewFrom, this.#renewAfterMs, at);
  }

  /** How long the key is to stay taken after a release at this moment. */
  protected keepForMs(at: Moment): number {
    const { minHoldMs } = this.terms;
    return minHoldMs > 0 ? Math.max(0, endOf(this.#grantedAt, minHoldMs, at) - at.monotonic) : 0;
  }

  /** Also a lock without `autoRenew` renews once, if its first lease is short. */
  protected get renews(): boolean {
    return this.terms.autoRenew || this.#leaseMs < this.terms.ttlMs;
  }

  protected get renewalSlackMs(): number {
    return this.#intervalMs * SLACK_FACTOR;
  }

  protected renewAfterInterval(from: Moment): void {
    this.#renewFrom = from;
    this.#renewAfterMs = this.#intervalMs;
  }

  protected renewSoon(from: Moment): void {
    this.#renewFrom = from;
    this.#renewAfterMs = Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, this.#leaseMs / RETRIES_PER_TTL));
  }

  /** A renewal that was sent then succeeded. True: it took longer than to the next one, which counts from when this one was sent. */
  protected prolong(sentAt: Moment): boolean {
    const overtaken = this.#renewFrom !== sentAt;
    this.#leasedAt = sentAt;
    this.#leaseMs = this.terms.ttlMs;
    this.renewAfterInterval(sentAt);
    return overtaken;
  }

  get #intervalMs(): number {
    return this.#leaseMs / RENEWALS_PER_TTL;
  }
}
