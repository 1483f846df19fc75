import type { LockUnavailableError, LossReason } from './errors.js';
import type { AuthorityChange } from './stores/failover/failover.options.js';

/** Which call an event is about. */
export interface LockCallEvent {
  /** The manager's name: that of `forRoot({ name })`, or `default`. */
  readonly manager: string;
  /** The first key, in sorted order. */
  readonly key: string;
  readonly keys: readonly string[];
  /** What this kind of lock is called: the option `label`; for a `@WithLock` method without one its template, or the method's name. */
  readonly label: string | undefined;
}

/** A lock that is held, or was. */
export interface HeldLockEvent extends LockCallEvent {
  readonly fencingToken: number;
  /** How long it has been held, in ms. */
  readonly heldMs: number;
  readonly ttlMs: number;
}

/** What a node, or a server, did. */
export interface NodeEvent {
  readonly manager: string;
  /** The node or server, without credentials. */
  readonly node: string;
}

/** What a manager tells of, and with what. */
export interface LockEventMap {
  readonly granted: LockCallEvent & { readonly fencingToken: number; readonly waitedMs: number };
  /** The call has to wait for its turn, or for someone else's lock. Told once for each call. */
  readonly waiting: LockCallEvent;
  /** The call got `LockBusyError`. */
  readonly busy: LockCallEvent & { readonly waitedMs: number };
  /** The call got `LockUnavailableError`; a shutdown is one, too. */
  readonly unavailable: LockCallEvent & { readonly waitedMs: number; readonly error: LockUnavailableError };
  readonly renewed: HeldLockEvent;
  readonly lost: HeldLockEvent & { readonly reason: LossReason };
  readonly released: HeldLockEvent;
  /** The work went on beyond the ttl of a lock without `autoRenew`: it is lost, and a longer ttl, or renewal, is what it needs. */
  readonly overrun: HeldLockEvent;
  readonly nodeDown: NodeEvent & { readonly reason: string };
  readonly nodeUp: NodeEvent;
  /** A node has answered a request, which may have been for many locks. */
  readonly nodeAnswered: NodeEvent & { readonly latencyMs: number };
  /** With a `fallback`: which store decides from now on. */
  readonly authorityChanged: AuthorityChange & { readonly manager: string };
}

/** What `locks.on()` knows. */
export type LockEventName = keyof LockEventMap;
/** What it throws is logged, and nobody else's concern. */
export type LockEventListener<N extends LockEventName> = (event: LockEventMap[N]) => void;
