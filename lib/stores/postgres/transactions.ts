import { begin, COMMIT, idleLimit } from './transaction-statements.js';
import type { AdvisoryId } from './lock-id.js';
import type { Session } from './session.js';

/** Connections on which one transaction each holds one lock. What is not in use is kept for the next. */
export class Transactions {
  readonly #all = new Set<Session>();
  readonly #free: Session[] = [];
  readonly #open = new Map<Session, Transaction>();

  constructor(
    private readonly make: () => Session,
    private readonly limit: number,
  ) {}

  /** The lock in a transaction of its own; undefined if it is taken. Rejects when no connection is left. */
  async begin(lock: AdvisoryId, idleLimitMs: number): Promise<Transaction | undefined> {
    const session = this.#free.pop() ?? (await this.#connect());
    try {
      const [row] = await session.ask(begin(lock, idleLimitMs));
      if (row?.['got'] === 't') {
        session.pin(row['pid'] ?? '');
        const transaction = new Transaction(session, idleLimitMs, () => this.#keep(session));
        this.#open.set(session, transaction);
        return transaction;
      }
      await session.ask(COMMIT);
    } catch (error) {
      session.lose(error as Error);
      throw error;
    }
    this.#keep(session);
    return undefined;
  }

  async close(reason: Error, limitMs: number): Promise<void> {
    await Promise.all([...this.#all].map((session) => session.close(reason, limitMs)));
  }

  async #connect(): Promise<Session> {
    if (this.#all.size >= this.limit) {
      throw new Error(`each of its ${this.limit} connections holds a lock; raise \`connections\``);
    }
    const session = this.make();
    this.#all.add(session);
    session.onLost = () => this.#forget(session);
    try {
      await session.connect();
    } catch (error) {
      session.lose(error as Error);
      throw error;
    }
    return session;
  }

  #keep(session: Session): void {
    this.#open.delete(session);
    if (!session.lost) this.#free.push(session);
  }

  #forget(session: Session): void {
    this.#all.delete(session);
    const place = this.#free.indexOf(session);
    if (place >= 0) this.#free.splice(place, 1);
    this.#open.get(session)?.onLost?.();
    this.#open.delete(session);
  }
}

/** One lock, for as long as its transaction is open. */
export class Transaction {
  /** Called once if its connection ends first, and the lock with it. */
  onLost: (() => void) | undefined;

  constructor(
    readonly session: Session,
    private idleLimitMs: number,
    private readonly giveBack: () => void,
  ) {}

  /** The server must not end it before the lease is over. Done before anything that is asked later. */
  cover(idleLimitMs: number): void {
    if (idleLimitMs <= this.idleLimitMs) return;
    this.idleLimitMs = idleLimitMs;
    this.session.ask(idleLimit(idleLimitMs)).catch((error: Error) => this.session.lose(error));
  }

  async end(): Promise<void> {
    await this.session.ask(COMMIT);
    this.session.unpin();
    this.giveBack();
  }
}
