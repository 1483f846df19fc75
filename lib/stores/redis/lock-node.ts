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
  /** Of a `queue`: the place, after a + if more of the same process wait, or a -. Without a place it joins no line, but is told when the key comes free. */
  readonly place?: string;
}

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
}

/** Whoever sent a request; told at once what became of it, since promises in between would cost more than all the rest. */
export interface Asker {
  answered(node: LockNode, reply: NodeReply): void;
  /** The node cannot be reached, failed, or did not answer in time. */
  failed(node: LockNode, reason: string): void;
  /** An answer that came after the time was up. */
  late(node: LockNode, reply: NodeReply): void;
}

/**
 * One node that keeps locks: the seam between the protocol and its transport. A request is carried out at most once, at any time after it was sent, or never.
 */
export interface LockNode {
  readonly name: string;
  /** Whether it is not connected, or has left something without an answer for too long. */
  readonly out?: boolean;
  /** Whether those who listen to this key are told of it at present. Who does not hear when it is their turn must not stand in line. */
  hears?(key: string): boolean;
  /**
   * Sends one request. The asker hears of it once, `late` aside, and never before this returns. With `spare` the others suffice: while it is out it is not asked then.
   */
  send(request: NodeRequest, timeoutMs: number, asker: Asker, spare?: boolean): void;
  /** Calls `told` with what a release says (the owner, or whom the key is kept for), or with nothing when that may have been missed; returns the unsubscribe function. */
  onFree?(key: string, told: (owner: string | undefined) => void): () => void;
  /** Until `uncork`, requests are gathered to go out together. */
  cork?(): void;
  uncork?(): void;
  close(): Promise<void>;
}
