import { Deadline, elapsed, now, validity, type Moment } from './deadline.js';
import { LockLostError, LockUnavailableError, type LossReason } from './errors.js';
import { Lock } from './lock.js';
import type { LockTerms } from './lock.options.js';
import { Patience } from './patience.js';
import type { Clock } from './runtime.js';
import type { Watchdog, Watched } from './watchdog.js';

/** How a lock reaches its store, bound to its keys and owner: it knows neither the store nor the manager. */
export interface LockLink {
  /** True: renewed on every key. False: not ours any more. Rejects: unknown. */
  renew(): Promise<boolean>;
  release(keepForMs: number): Promise<boolean>;
  /** Calls `lost` when the store itself notices that the lock is gone; returns the unsubscribe function. Missing where stores cannot notice. */
  readonly onLoss?: ((lost: () => void) => () => void) | undefined;
}

/** What becomes of locks, for whoever looks after them. */
export interface LockEvents {
  started(lock: HeldLock): void;
  /** It is over: released, or lost. Told once. */
  ended(lock: HeldLock, loss: LockLostError | undefined): void;
  /** A renewal or a release had no clear answer. */
  failed(lock: HeldLock, verb: 'renew' | 'release', error: unknown): void;
}

export interface Grant {
  readonly keys: readonly [string, ...string[]];
  readonly fencingToken: number;
  /** Read before the winning attempt was sent: the lease counts from here. */
  readonly sentAt: Moment;
}

const RENEWALS_PER_TTL = 3;
/** How much of the renewal interval a renewal may come early, to go out together with others. */
const SLACK_FACTOR = 0.1;
/** After an unclear answer: soon, but not in a hot loop. */
const RETRIES_PER_TTL = 15;
const SHORTEST_RETRY_MS = 5;
const LONGEST_RETRY_MS = 1000;

/** A lock that was granted, from its grant to its release or loss. */
export class HeldLock extends Lock implements Watched {
  readonly keys: readonly string[];
  readonly key: string;
  readonly fencingToken: number;
  readonly #grantedAt: Moment;
  readonly #maxHold: Deadline;
  #deadline: Deadline;
  #renewDue: Deadline;
  #renewal: Promise<void> | undefined;
  #release: Promise<boolean> | undefined;
  #loss: LockLostError | undefined;
  #controller: AbortController | undefined;
  #stopListening: (() => void) | undefined;

  constructor(
    grant: Grant,
    private readonly terms: LockTerms,
    private readonly link: LockLink,
    private readonly events: LockEvents,
    private readonly clock: Clock,
    private readonly watchdog: Watchdog,
  ) {
    super();
    this.keys = grant.keys;
    this.key = grant.keys[0];
    this.fencingToken = grant.fencingToken;
    this.#grantedAt = grant.sentAt;
    this.#deadline = new Deadline(clock, grant.sentAt, validity(terms.ttlMs));
    this.#maxHold = new Deadline(clock, grant.sentAt, terms.maxHoldMs);
    this.#renewDue = new Deadline(clock, grant.sentAt, terms.ttlMs / RENEWALS_PER_TTL);
    watchdog.watch(this);
    events.started(this);
    this.#stopListening = link.onLoss?.(() => this.abort('disconnected'));
  }

  get held(): boolean {
    if (this.#loss || this.#release) return false;
    // The clock decides, not a timer: after a pause the first look already tells.
    if (this.#deadline.remaining <= 0) this.#lose('expired');
    else if (this.#maxHold.remaining <= 0) this.#lose('max-hold');
    return !this.#loss;
  }

  get remaining(): number {
    return this.held ? Math.min(this.#deadline.remaining, this.#maxHold.remaining) : 0;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (!this.held && this.#loss) this.#controller.abort(this.#loss);
    }
    return this.#controller.signal;
  }

  get loss(): LockLostError | undefined {
    return this.#loss;
  }

  assertHeld(): void {
    if (!this.held) throw this.#loss ?? new LockLostError(this.key, this.fencingToken, 'released');
  }

  async renew(): Promise<void> {
    this.assertHeld();
    const patience = new Patience(this.watchdog, this.#lostAt(now(this.clock)));
    try {
      await patience.for(this.#renewal ?? this.#startRenewal());
    } catch (error) {
      if (this.held) throw this.#unavailable(error);
    } finally {
      patience.end();
    }
    this.assertHeld();
  }

  release(): Promise<boolean> {
    return (this.#release ??= this.#giveBack());
  }

  /** Ends the lock now, whatever the store says. */
  abort(reason: LossReason): void {
    if (this.held) this.#lose(reason);
  }

  dueAt(at: Moment): number {
    const lostAt = this.#lostAt(at);
    return this.#renewal || !this.terms.autoRenew ? lostAt : Math.min(lostAt, this.#renewDue.on(at));
  }

  slackMs(at: Moment): number {
    // Only a renewal may come early; a lease never ends before its time.
    const renewalIsNext = this.terms.autoRenew && !this.#renewal && this.#renewDue.on(at) < this.#lostAt(at);
    return renewalIsNext ? this.#renewalSlackMs : 0;
  }

  attend(): void {
    if (!this.held) return;
    if (this.terms.autoRenew && !this.#renewal && this.#renewDue.remaining <= this.#renewalSlackMs) {
      this.#startRenewal().catch((error: unknown) => {
        if (this.held) this.events.failed(this, 'renew', error);
      });
    }
  }

  /** When this lock ends unless renewed, on the monotonic clock. */
  #lostAt(at: Moment): number {
    return Math.min(this.#deadline.on(at), this.#maxHold.on(at));
  }

  get #renewalSlackMs(): number {
    return (this.terms.ttlMs / RENEWALS_PER_TTL) * SLACK_FACTOR;
  }

  #startRenewal(): Promise<void> {
    const sentAt = now(this.clock);
    const renewal = this.link.renew().then(
      (ours) => this.#renewed(ours, sentAt),
      (error: unknown) => {
        const { ttlMs } = this.terms;
        const soon = Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, ttlMs / RETRIES_PER_TTL));
        this.#settled(new Deadline(this.clock, now(this.clock), soon));
        throw error;
      },
    );
    this.#renewal = renewal;
    return renewal;
  }

  #renewed(ours: boolean, sentAt: Moment): void {
    // What a renewal says after the release, or after the loss was told, changes nothing.
    if (this.#release || this.#loss) return;
    if (!ours) return this.#lose('taken');
    this.#deadline = new Deadline(this.clock, sentAt, validity(this.terms.ttlMs));
    this.#settled(new Deadline(this.clock, sentAt, this.terms.ttlMs / RENEWALS_PER_TTL));
  }

  #settled(renewDue: Deadline): void {
    this.#renewal = undefined;
    this.#renewDue = renewDue;
    this.watchdog.rescheduled(this);
  }

  #lose(reason: LossReason): void {
    this.#loss = new LockLostError(this.key, this.fencingToken, reason);
    this.watchdog.unwatch(this);
    this.#stopListening?.();
    this.events.ended(this, this.#loss);
    this.#controller?.abort(this.#loss);
  }

  async #giveBack(): Promise<boolean> {
    const wasHeld = this.held;
    const patience = new Patience(this.watchdog, this.clock.monotonic() + this.terms.ttlMs);
    // No renewal starts after this line. One in flight is superseded: it went out before the release does, and its answer is not heard.
    this.watchdog.unwatch(this);
    this.#stopListening?.();
    const { minHoldMs } = this.terms;
    const keepForMs = wasHeld && minHoldMs > 0 ? Math.max(0, minHoldMs - elapsed(this.clock, this.#grantedAt)) : 0;
    try {
      // A lost lock is released as well: a minority of nodes may still have it.
      const wasOurs = await patience.for(this.link.release(keepForMs));
      if (!wasOurs) this.#loss ??= new LockLostError(this.key, this.fencingToken, 'taken');
      return wasHeld && wasOurs;
    } catch (error) {
      this.events.failed(this, 'release', error);
      return false;
    } finally {
      patience.end();
      if (wasHeld) this.events.ended(this, this.#loss);
    }
  }

  #unavailable(error: unknown): LockUnavailableError {
    if (error instanceof LockUnavailableError) return error;
    return new LockUnavailableError(this.key, [{ node: 'store', reason: String(error) }]);
  }
}
