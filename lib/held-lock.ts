import { now, type Moment } from './deadline.js';
import { LockLostError, LockUnavailableError, type LossReason } from './errors.js';
import type { LockTerms } from './lock.options.js';
import { Patience } from './patience.js';
import type { Clock } from './runtime.js';
import type { Lease } from './stores/lock-store.js';
import { TimedLock, type Grant } from './timed-lock.js';
import type { Slot, Watchdog, Watched } from './watchdog.js';

/** How locks reach their store. */
export interface LockLink {
  /** Tells the lock itself what came of it. */
  renew(lock: HeldLock): void;
  release(lock: HeldLock, keepForMs: number): Promise<boolean>;
  /** Calls `lost` when the store itself notices that the lock is gone; returns the unsubscribe function. Missing where stores cannot notice. */
  readonly onLoss?: ((lock: HeldLock, lost: () => void) => () => void) | undefined;
}

/** What becomes of locks, for whoever looks after them. */
export interface LockEvents {
  started(lock: HeldLock): void;
  renewed(lock: HeldLock): void;
  /** It is over: released, or lost. Told once. */
  ended(lock: HeldLock, loss: LockLostError | undefined): void;
  /** A renewal or a release had no clear answer. */
  failed(lock: HeldLock, verb: 'renew' | 'release', error: unknown): void;
}

/** A lock that was granted, from its grant to its release or loss. */
export class HeldLock extends TimedLock implements Watched, Lease {
  readonly keys: readonly [string, ...string[]];
  readonly key: string;
  readonly owner: string;
  readonly fencingToken: number;
  renewals = 0;
  /** Whether a caller has it: one that comes too late is given back, and nobody hears of it. */
  handedOut = false;
  slot: Slot | undefined = undefined;
  place = 0;
  /** Before the renewal in flight was sent. */
  #renewalSentAt: Moment | undefined = undefined;
  /** They wait for what comes of it: why it had no clear answer, if so. */
  #asking: ((unclear: unknown) => void)[] | undefined = undefined;
  #release: Promise<boolean> | undefined = undefined;
  /** When the answer to the release is waited for no longer. */
  #giveUpAt = Number.POSITIVE_INFINITY;
  #giveUp: (() => void) | undefined = undefined;
  #loss: LockLostError | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  readonly #stopListening: (() => void) | undefined;

  constructor(
    grant: Grant,
    terms: LockTerms,
    private readonly link: LockLink,
    private readonly events: LockEvents,
    clock: Clock,
    private readonly watchdog: Watchdog,
    at: Moment,
  ) {
    super(grant, terms, clock, at);
    this.keys = grant.keys;
    this.key = grant.keys[0];
    this.owner = grant.owner;
    this.fencingToken = grant.fencingToken;
    watchdog.watch(this, at);
    events.started(this);
    this.#stopListening = link.onLoss?.(this, () => this.abort('disconnected'));
  }

  get held(): boolean {
    return this.#isHeld(now(this.clock));
  }

  get remaining(): number {
    const at = now(this.clock);
    return this.#isHeld(at) ? this.lostAt(at) - at.monotonic : 0;
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

  get label(): string | undefined {
    return this.terms.label;
  }

  get autoRenew(): boolean {
    return this.terms.autoRenew;
  }

  get over(): boolean {
    return this.#loss !== undefined || this.#release !== undefined;
  }

  assertHeld(): void {
    if (!this.held) throw this.#loss ?? new LockLostError(this.key, this.fencingToken, 'released');
  }

  async renew(): Promise<void> {
    this.assertHeld();
    const at = now(this.clock);
    const failure = await new Promise<unknown>((resolve) => {
      const giveUp = (): void => resolve(new Error('no answer in time'));
      const patience = new Patience(this.watchdog, this.lostAt(at), giveUp, at);
      (this.#asking ??= []).push((unclear) => {
        patience.end();
        resolve(unclear);
      });
      if (!this.#renewalSentAt) this.#startRenewal(at);
    });
    if (failure !== undefined && this.held) throw this.#unavailable(failure);
    this.assertHeld();
  }

  release(): Promise<boolean> {
    return (this.#release ??= new Promise((resolve) => this.#giveBack(resolve)));
  }

  /** Ends the lock now, whatever the store says. */
  abort(reason: LossReason): void {
    if (this.held) this.#lose(reason);
  }

  dueAt(at: Moment): number {
    if (this.#giveUp) return this.#giveUpAt;
    const lostAt = this.lostAt(at);
    return this.renews ? Math.min(lostAt, this.renewalAt(at)) : lostAt;
  }

  slackMs(at: Moment): number {
    if (!this.renews || this.#renewalSentAt || this.#giveUp) return 0;
    // Only a renewal may come early; a lease never ends before its time.
    return this.renewalAt(at) < this.lostAt(at) ? this.renewalSlackMs : 0;
  }

  attend(at: Moment): void {
    if (this.#giveUp) return this.#giveUp();
    if (!this.#isHeld(at) || !this.renews) return;
    if (this.renewalAt(at) - at.monotonic > this.renewalSlackMs) return;
    if (this.#renewalSentAt) this.renewAfterInterval(at);
    else this.#startRenewal(at);
  }

  renewed(ours: boolean): void {
    const sentAt = this.#renewalSentAt;
    this.#renewalSentAt = undefined;
    // What a renewal says after the release, or after the loss was told, changes nothing.
    if (sentAt && !this.over) {
      if (ours) this.#renewed(sentAt);
      else this.#lose('taken');
    }
    this.#answer(undefined);
  }

  unclear(error: unknown): void {
    this.#renewalSentAt = undefined;
    if (!this.over) {
      const at = now(this.clock);
      this.renewSoon(at);
      this.watchdog.rescheduled(this, at);
      if (!this.#asking && this.#isHeld(at)) this.events.failed(this, 'renew', error);
    }
    this.#answer(error ?? 'unknown');
  }

  #isHeld(at: Moment): boolean {
    if (this.over) return false;
    const reason = this.outlived(at);
    if (reason) this.#lose(reason);
    return !reason;
  }

  #startRenewal(sentAt: Moment): void {
    // What it brings comes sooner than that; where it is watched now is then where it belongs.
    this.renewAfterInterval(sentAt);
    this.#renewalSentAt = sentAt;
    this.link.renew(this);
  }

  #renewed(sentAt: Moment): void {
    this.renewals++;
    if (this.prolong(sentAt)) this.watchdog.rescheduled(this);
    this.events.renewed(this);
  }

  #answer(unclear: unknown): void {
    const asking = this.#asking;
    this.#asking = undefined;
    asking?.forEach((answer) => answer(unclear));
  }

  #lose(reason: LossReason): void {
    this.#loss = new LockLostError(this.key, this.fencingToken, reason);
    this.watchdog.unwatch(this);
    this.#stopListening?.();
    this.events.ended(this, this.#loss);
    this.#controller?.abort(this.#loss);
  }

  /** From here on no renewal starts. One in flight is superseded: it went out before the release does, and its answer is not heard. */
  #giveBack(settle: (released: boolean) => void): void {
    const at = now(this.clock);
    const wasHeld = this.#isHeld(at);
    let open = true;
    const end = (wasOurs: boolean, error?: unknown): void => {
      if (!open) return;
      open = false;
      this.watchdog.unwatch(this);
      if (error !== undefined) this.events.failed(this, 'release', error);
      else if (!wasOurs) this.#loss ??= new LockLostError(this.key, this.fencingToken, 'taken');
      if (wasHeld) this.events.ended(this, this.#loss);
      settle(wasHeld && wasOurs);
    };
    // A lost lock is released as well: a minority of nodes may still have it.
    this.link
      .release(this, wasHeld ? this.keepForMs(at) : 0)
      .then(end, (error: unknown) => end(false, error ?? 'unknown'));
    this.#giveUpAt = at.monotonic + this.terms.ttlMs;
    this.#giveUp = () => end(false, new Error('no answer in time'));
    if (!wasHeld) this.watchdog.watch(this, at);
    this.#stopListening?.();
  }

  #unavailable(error: unknown): LockUnavailableError {
    if (error instanceof LockUnavailableError) return error;
    return new LockUnavailableError(this.key, [{ node: 'store', reason: String(error) }]);
  }
}
