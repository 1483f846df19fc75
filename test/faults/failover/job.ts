import type { Lock } from '../../../lib/lock.js';
import type { AuthorityState } from '../../../lib/stores/failover/authority.js';
import type { Ledger } from './ledger.js';
import { nowMs, type Outcome, type PodHold } from './messages.js';

/** The way of a write to the ledger is covered by no look at the lock; it is not begun with less than this part of the ttl left. */
const SPARE_PART = 8;

/** One lock, what is done under it, and until when its holder knew itself to hold it. */
export class Job {
  readonly grantedAt = nowMs();
  #heldUntil = this.grantedAt;
  #value = 0;
  #outcome: Outcome = 'left';

  constructor(
    readonly lock: Lock,
    private readonly ledger: Ledger,
    private readonly startedAt: number,
    private readonly state: AuthorityState | undefined,
  ) {}

  async read(): Promise<void> {
    this.#value = await this.ledger.read(this.lock.key);
  }

  /** Whether it still holds. The clock is read first: a pause between the two must not stretch what was held. */
  look(): boolean {
    const at = nowMs();
    const { held } = this.lock;
    if (held) this.#heldUntil = at;
    return held;
  }

  hasTimeToWrite(ttlMs: number): boolean {
    return this.lock.remaining > ttlMs / SPARE_PART;
  }

  async write(mayWrite: () => boolean): Promise<Outcome> {
    const { key, fencingToken } = this.lock;
    return (this.#outcome = await this.ledger.write(key, fencingToken, this.#value + 1, mayWrite));
  }

  async end(): Promise<{ readonly hold: PodHold; readonly released: boolean }> {
    const lost = !this.look();
    const released = await this.lock.release();
    const { key, fencingToken: token } = this.lock;
    const { startedAt, grantedAt, state } = this;
    const written = { outcome: this.#outcome, counted: this.#outcome === 'written' ? [key] : [] };
    const hold = { key, keys: [key], token, startedAt, grantedAt, heldUntil: this.#heldUntil, state, lost, ...written };
    return { hold, released };
  }
}
