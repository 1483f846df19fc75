import type { Moment } from '../../../lib/deadline.js';
import type { Place, Turn } from '../../../lib/stores/lock-store.js';
import { Turns } from '../../../lib/stores/redis/turns.js';

/** The real turns, and how many of those who expect one, or wait until they can, are left. */
export class WatchedTurns extends Turns {
  readonly #expected = new Set<string>();
  #waiting = 0;

  get open(): number {
    return this.#expected.size + this.#waiting;
  }

  override listen(owner: string, wake: () => void): () => void {
    const stop = super.listen(owner, wake);
    this.#waiting++;
    return () => {
      this.#waiting--;
      stop();
    };
  }

  override expect(owner: string, sentAt: Moment, ttlMs: number, place: Place): boolean {
    const expected = super.expect(owner, sentAt, ttlMs, place);
    if (expected) this.#expected.add(owner);
    return expected;
  }

  override take(owner: string, at: Moment): Turn | undefined {
    this.#expected.delete(owner);
    return super.take(owner, at);
  }

  override forget(owner: string): void {
    this.#expected.delete(owner);
    super.forget(owner);
  }
}

/** Counts the lease of a turn from when it is taken, not from before its attempt was sent. */
export class LateTurns extends WatchedTurns {
  readonly #sentAt = new Map<string, Moment>();

  override expect(owner: string, sentAt: Moment, ttlMs: number, place: Place): boolean {
    this.#sentAt.set(owner, sentAt);
    return super.expect(owner, sentAt, ttlMs, place);
  }

  override take(owner: string, at: Moment): Turn | undefined {
    const turn = super.take(owner, this.#sentAt.get(owner) ?? at);
    return turn && { ...turn, sentAt: at };
  }
}
