import { lockId, type AdvisoryId, type LockId } from './lock-id.js';
import { AWAIT, AWAIT_NO_MORE, LISTEN } from './lock-statements.js';
import type { Session } from './session.js';

interface Waiting {
  readonly id: LockId;
  readonly wakes: Set<() => void>;
  /** Where it shows that this process waits. */
  session: Session | undefined;
}

/** A release looks for waiters by taking their lock for an instant, in which a waiter may be refused. */
const TRIES = 3;

/** Who of this process waits for which key: made known to other sessions by a shared lock, and woken by what they send. */
export class FreeChannel {
  readonly #waiting = new Map<AdvisoryId, Waiting>();
  #session: Session | undefined;
  #listening: Session | undefined;

  subscribe(key: string, wake: () => void): () => void {
    const id = lockId(key);
    let waiting = this.#waiting.get(id.lock);
    if (!waiting) {
      waiting = { id, wakes: new Set(), session: undefined };
      this.#waiting.set(id.lock, waiting);
      waiting.wakes.add(wake);
      this.#join(waiting);
    }
    waiting.wakes.add(wake);
    return () => this.#leave(waiting, wake);
  }

  /** Those who wait for this lock, in this process. */
  wake(lock: AdvisoryId): void {
    for (const wake of [...(this.#waiting.get(lock)?.wakes ?? [])]) wake();
  }

  up(session: Session): void {
    this.#session = session;
    for (const waiting of this.#waiting.values()) this.#join(waiting);
  }

  down(): void {
    this.#session = undefined;
    for (const waiting of this.#waiting.values()) waiting.session = undefined;
  }

  #join(waiting: Waiting): void {
    const session = this.#session;
    // Losing a wake-up is allowed: if this fails, the waiter tries again by itself.
    if (session) this.#announce(session, waiting).catch(() => undefined);
  }

  async #announce(session: Session, waiting: Waiting): Promise<void> {
    if (this.#listening !== session) {
      this.#listening = session;
      session.ask(LISTEN).catch(() => (this.#listening = undefined));
    }
    for (let tried = 0; tried < TRIES && waiting.session !== session; tried++) {
      const [row] = await session.ask(AWAIT, [waiting.id.waiters]);
      if (row?.['got'] === 't') waiting.session = session;
    }
    if (waiting.wakes.size === 0) return this.#retire(waiting);
    // It may have come free before anyone could know that this process waits.
    for (const wake of [...waiting.wakes]) wake();
  }

  #leave(waiting: Waiting, wake: () => void): void {
    if (!waiting.wakes.delete(wake) || waiting.wakes.size > 0) return;
    if (this.#waiting.get(waiting.id.lock) === waiting) this.#waiting.delete(waiting.id.lock);
    this.#retire(waiting);
  }

  #retire(waiting: Waiting): void {
    const { session } = waiting;
    waiting.session = undefined;
    session?.ask(AWAIT_NO_MORE, [waiting.id.waiters]).catch(() => undefined); // the end of the session ends it, too
  }
}
