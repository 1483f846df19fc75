import { Deadline, now } from '../../deadline.js';
import type { Runtime } from '../../runtime.js';
import type { AdvisoryId, LockId } from './lock-id.js';

/** A lock that our session holds. */
export interface HeldKey {
  readonly key: string;
  readonly id: LockId;
  readonly owner: string;
  lease: Deadline;
  /** Only Postgres has it, and our session shows that. */
  alone: boolean;
  /** While that is about to change. */
  changing: Promise<void> | undefined;
  /** To be told when it is gone without a release. */
  readonly listeners: Set<() => void>;
}

/** What our session holds, and until when: an advisory lock itself has no ttl. One timer for all of them. */
export class HeldKeys {
  readonly #held = new Map<AdvisoryId, HeldKey>();
  #dueAt = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(
    private readonly runtime: Runtime,
    /** Called when a lease is over; it has been removed. */
    private readonly expired: (held: HeldKey) => void,
  ) {}

  /** Also one whose lease is over, until it has been given back. */
  find(id: LockId): HeldKey | undefined {
    return this.#held.get(id.lock);
  }

  owned(id: LockId, owner: string): HeldKey | undefined {
    const held = this.find(id);
    return held?.owner === owner && held.lease.remaining > 0 ? held : undefined;
  }

  add(key: string, id: LockId, owner: string, ttlMs: number, alone: boolean): HeldKey {
    const lease = this.#lease(ttlMs);
    const held: HeldKey = { key, id, owner, lease, alone, changing: undefined, listeners: new Set() };
    this.#held.set(id.lock, held);
    this.#schedule(held);
    return held;
  }

  renew(held: HeldKey, ttlMs: number): void {
    held.lease = this.#lease(ttlMs);
    this.#schedule(held);
  }

  remove(held: HeldKey): void {
    this.#held.delete(held.id.lock);
    if (this.#held.size === 0) this.#disarm();
  }

  /** Removes it, if its lease is over, and says so. */
  expire(held: HeldKey): boolean {
    if (held.lease.remaining > 0) return false;
    this.remove(held);
    this.expired(held);
    return true;
  }

  /** Calls `lost` when the key is gone without a release; returns the unsubscribe function. */
  onLoss(id: LockId, owner: string, lost: () => void): () => void {
    const held = this.owned(id, owner);
    const listeners = held?.listeners ?? new Set();
    listeners.add(lost);
    // Gone between its grant and this call: said as soon as the caller can hear it.
    if (!held) queueMicrotask(() => listeners.has(lost) && lost());
    return () => void listeners.delete(lost);
  }

  /** All of them at once: their session is gone. */
  clear(): readonly HeldKey[] {
    const all = [...this.#held.values()];
    this.#held.clear();
    this.#disarm();
    return all;
  }

  #lease(ttlMs: number): Deadline {
    return new Deadline(this.runtime.clock, now(this.runtime.clock), ttlMs);
  }

  #schedule({ lease }: HeldKey): void {
    const endsAt = lease.on(now(this.runtime.clock));
    if (endsAt < this.#dueAt) this.#arm(endsAt);
  }

  #arm(at: number): void {
    this.#disarm();
    this.#dueAt = at;
    const delayMs = Math.max(1, Math.ceil(at - this.runtime.clock.monotonic()));
    this.#cancel = this.runtime.timers.start(() => this.#look(), delayMs);
  }

  #disarm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  #look(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
    const at = now(this.runtime.clock);
    let next = Number.POSITIVE_INFINITY;
    for (const held of this.#held.values()) {
      if (!this.expire(held)) next = Math.min(next, held.lease.on(at));
    }
    if (next < this.#dueAt) this.#arm(next);
  }
}

export function tellLost({ listeners }: HeldKey): void {
  for (const lost of [...listeners]) lost();
}
