import { LockBusyError, LockUnavailableError, type LockLostError } from './errors.js';
import type { EventHub } from './event-hub.js';
import type { HeldLock } from './held-lock.js';
import type { HeldLockEvent, LockCallEvent } from './lock-events.js';
import type { AuthorityChange } from './stores/failover/failover.options.js';
import type { Clock } from './runtime.js';
import type { StoreObserver } from './stores/store-observer.js';

type Call = Pick<LockCallEvent, 'keys' | 'label'>;

/** Makes events of what happens to the calls, the locks and the store of one manager, if somebody listens. */
export class LockReporter implements StoreObserver {
  constructor(
    private readonly hub: EventHub,
    private readonly manager: string,
    private readonly clock: Clock,
  ) {}

  /** What to do when a call has to wait. */
  onWait(call: Call): (() => void) | undefined {
    return this.hub.hears('waiting') ? () => this.hub.tell('waiting', this.#call(call)) : undefined;
  }

  granted(lock: HeldLock, waitedMs: number): void {
    lock.handedOut = true;
    if (!this.hub.hears('granted')) return;
    this.hub.tell('granted', { ...this.#call(lock), fencingToken: lock.fencingToken, waitedMs });
  }

  /** Bad input, and a wait that was aborted, are the caller's own doing. */
  refused(call: Call, error: unknown, waitedMs: number): void {
    if (error instanceof LockBusyError) {
      if (this.hub.hears('busy')) this.hub.tell('busy', { ...this.#call(call), waitedMs });
    } else if (error instanceof LockUnavailableError && this.hub.hears('unavailable')) {
      this.hub.tell('unavailable', { ...this.#call(call), waitedMs, error });
    }
  }

  renewed(lock: HeldLock): void {
    if (this.hub.hears('renewed')) this.hub.tell('renewed', this.#held(lock));
  }

  ended(lock: HeldLock, loss: LockLostError | undefined): void {
    if (!lock.handedOut) return;
    if (!loss) {
      if (this.hub.hears('released')) this.hub.tell('released', this.#held(lock));
      return;
    }
    const { reason } = loss;
    if (reason === 'expired' && !lock.autoRenew && this.hub.hears('overrun')) {
      this.hub.tell('overrun', this.#held(lock));
    }
    if (this.hub.hears('lost')) this.hub.tell('lost', { ...this.#held(lock), reason });
  }

  nodeDown(node: string, reason: string): void {
    if (this.hub.hears('nodeDown')) this.hub.tell('nodeDown', { manager: this.manager, node, reason });
  }

  nodeUp(node: string): void {
    if (this.hub.hears('nodeUp')) this.hub.tell('nodeUp', { manager: this.manager, node });
  }

  nodeAsked(node: string): (() => void) | undefined {
    if (!this.hub.hears('nodeAnswered')) return undefined;
    const askedAt = this.clock.monotonic();
    return () => {
      this.hub.tell('nodeAnswered', { manager: this.manager, node, latencyMs: this.clock.monotonic() - askedAt });
    };
  }

  authorityChanged(change: AuthorityChange): void {
    if (this.hub.hears('authorityChanged')) this.hub.tell('authorityChanged', { manager: this.manager, ...change });
  }

  #call({ keys, label }: Call): LockCallEvent {
    return { manager: this.manager, key: keys[0]!, keys, label };
  }

  #held(lock: HeldLock): HeldLockEvent {
    const { fencingToken, heldMs, ttlMs } = lock;
    return { ...this.#call(lock), fencingToken, heldMs, ttlMs };
  }
}
