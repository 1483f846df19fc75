import type { Moment } from '../../deadline.js';
import type { Place, Turn } from '../lock-store.js';
import type { StoreObserver } from '../store-observer.js';

/** What a node can be asked. To queue is to acquire with a place in line. To undo is to release what was never held: nobody is told. */
export type NodeVerb =
  'acquire' | 'queue' | 'leave' | 'commit' | 'renew' | 'heal' | 'release' | 'undo' | 'inspect' | 'mark';

export interface NodeRequest {
  readonly verb: NodeVerb;
  readonly key: string;
  readonly owner: string;
  /** The ttl; for a release, how long the key stays taken. */
  readonly ms: number;
  /** The proposal of an acquire, the token of a commit or a heal. */
  readonly token: number;
  /** Of a `queue`: a +, then the owner whose place in line it takes, if any. Empty: it joins no line, but is told when the key comes free. */
  readonly place?: string;
}

/** Asks for nothing but an answer; with a quarantine, for how long that still lasts. */
export const MARK: NodeRequest = { verb: 'mark', key: '', owner: '', ms: 0, token: 0 };

export type NodeReply =
  /** Done. The value is the fence after an acquire or a renew. */
  | { readonly status: 'yes'; readonly value: number; readonly state?: NodeLockState }
  /** Someone else's, or nobody's. The value is the remaining ms after an acquire, the fence after an inspect; the holder is told after an acquire. */
  | { readonly status: 'no'; readonly value: number; readonly holder?: string }
  /** The node came back empty and abstains for `value` more ms. */
  | { readonly status: 'quarantined'; readonly value: number };

export interface NodeLockState {
  readonly owner: string;
  readonly remainingMs: number;
  /** How many stand in line, if any do. */
  readonly waiters?: number;
}

/** A part of the locks that a node has. */
export interface NodeScan {
  readonly keys: readonly string[];
  /** Where to go on; empty: nowhere, that was all. */
  readonly cursor: string;
}

/** Whoever sent a request; told at once what became of it, since promises in between would cost more than all the rest. */
export interface Asker {
  answered(node: LockNode, reply: NodeReply): void;
  /** The node cannot be reached, failed, or did not answer in time. */
  failed(node: LockNode, reason: string): void;
  /** An answer that came after the time was up. */
  late(node: LockNode, reply: NodeReply): void;
}

/** What is heard of the turns of those who stand in line at a node. */
export interface TurnEar {
  /** Listens from now on for turns of this owner's process; calls `wake` whenever it begins to hear. Returns what ends that. */
  listen(owner: string, wake: () => void): () => void;
  /** Whether the turn of an attempt that is to be sent now will be heard; who does not hear must not stand in line. */
  expect(owner: string, sentAt: Moment, ttlMs: number, place: Place): boolean;
  /** The turn that this attempt has got, if it can be relied on. It is expected no longer. */
  take(owner: string, at: Moment): Turn | undefined;
  forget(owner: string): void;
  /**
   * Called with a turn that nobody expects here: of an attempt without an answer, or whose waiter's going the node was not told. Only this process is told of it, so it has to
   * give it up, or those behind it wait in vain.
   */
  unwanted?: ((key: string, owner: string) => void) | undefined;
}

/** Locks that are to be renewed alike. */
export interface NodeRenewals {
  /** The locks, then those fences whose time is to be prolonged, too. */
  readonly names: readonly string[];
  /** Of each lock, with a line break after it: one argument is a good deal cheaper than many. */
  readonly owners: string;
  readonly ms: number;
}

/** Whoever renews many. */
export interface RenewalAsker extends Pick<Asker, 'failed'> {
  /** All but those at these places, which their owners do not hold there. */
  renewed(node: LockNode, refused: readonly number[]): void;
}

/**
 * One node that keeps locks: the seam between the protocol and its transport. A request is carried out at most once, at any time after it was sent, or never.
 */
export interface LockNode {
  readonly name: string;
  /** Whether it is not connected, or has left something without an answer for too long. */
  readonly out?: boolean;
  /** Why it is to be asked for no locks, though it may answer. */
  unfit?(): string | undefined;
  /** Where it is heard whose turn it is. */
  readonly turns?: TurnEar;
  /** Whether those who listen to this key are told of it at present. */
  hears?(key: string): boolean;
  /**
   * Sends one request. The asker hears of it once, `late` aside, and never before this returns. With `spare` the others suffice: while it is out it is not asked then.
   */
  send(request: NodeRequest, timeoutMs: number, asker: Asker, spare?: boolean): void;
  /** Renews many, as `send` does. */
  renewAll?(renewals: NodeRenewals, timeoutMs: number, asker: RenewalAsker, spare?: boolean): void;
  /** Calls `told` with the owner whose release freed the key, or with nothing when that may have been missed; returns the unsubscribe function. */
  onFree?(key: string, told: (owner: string | undefined) => void): () => void;
  /** Tells of its going and coming from now on; returns what ends that. */
  observe?(observer: StoreObserver): () => void;
  /**
   * A part of the keys with this prefix that are locked there, in no order; an empty cursor begins. The node looks at about `count` of whatever it keeps. Rejects with the reason
   * where it has none to give.
   */
  scan?(prefix: string, cursor: string, count: number): Promise<NodeScan>;
  /** Until `uncork`, requests are gathered to go out together. */
  cork?(): void;
  uncork?(): void;
  close(): Promise<void>;
}
