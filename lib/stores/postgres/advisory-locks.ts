import { LockUnavailableError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { StoreContext } from '../store-source.js';
import { Asking, ended } from './asking.js';
import { FenceCleaning } from './fence-cleaning.js';
import { FreeChannel } from './free-channel.js';
import { HeldKeys, tellLost, type HeldKey } from './held-keys.js';
import { lockId, readable, type AdvisoryId } from './lock-id.js';
import { DROP_ALONE } from './guarded-statements.js';
import { LISTEN_TO_FORCE } from './look-statements.js';
import { RELEASE, RELEASE_KEEPING, UNDO } from './lock-statements.js';
import type { ClientFactory, Row } from './pg-client.js';
import { checkUnpooled } from './pooling.js';
import { idleLimitMs, type PostgresSettings } from './postgres.options.js';
import { SessionKeeper } from './session-keeper.js';
import { holdingLocks, idleLimit, setUp } from './session-setup.js';
import { Session, type Statement } from './session.js';

/** How long `close` waits for the server to take note. */
const GOODBYE_MS = 500;

export interface Attempt {
  readonly statement: Statement;
  /** What follows the id, the readable key and the owner. */
  readonly values?: readonly unknown[];
  /** Whether the lock is held alone once it is granted. */
  readonly alone?: boolean;
}

/** The lock that this process has already, or what an attempt brought. */
export type Taken = { readonly by: HeldKey } | { readonly row: Row };

/** False: it could not be shown. */
export type Mark = (session: Session, already: boolean) => Promise<boolean>;

/** The locks that this process has on its session, and what they have in common: a lease each, one connection, one end. */
export class AdvisoryLocks {
  readonly held: HeldKeys;
  readonly free = new FreeChannel();
  readonly #name: string;
  readonly keeper: SessionKeeper;
  readonly #asking = new Asking();
  #idleLimitMs: number;

  constructor(
    create: ClientFactory,
    private readonly settings: PostgresSettings,
    context: StoreContext,
    runtime: Runtime,
  ) {
    const { host, port } = create();
    this.#name = `postgres ${host}:${port}`;
    this.#idleLimitMs = idleLimitMs(settings, context.ttlMs);
    this.held = new HeldKeys(runtime, (held) => this.#expired(held));
    const cleaning = new FenceCleaning(runtime);
    this.keeper = new SessionKeeper(
      this.#name,
      () => new Session(create(), settings, runtime),
      (session) =>
        setUp(session, {
          name: this.#name,
          createTables: settings.createTables,
          check: () =>
            checkUnpooled(this.#name, session, () => new Session(create(), settings, runtime), runtime.timers),
          settings: holdingLocks(this.#idleLimitMs),
        }),
      {
        up: (session) => {
          session.onNotification = (payload) => this.#told(payload);
          session.ask(LISTEN_TO_FORCE).catch(() => undefined); // then it is not found to give way, and people are told so
          this.free.up(session);
          cleaning.up(session);
        },
        down: () => {
          this.free.down();
          cleaning.down();
          for (const held of this.held.clear()) tellLost(held);
        },
      },
      context.log,
      runtime,
    );
  }

  close(): Promise<void> {
    return this.keeper.close(GOODBYE_MS);
  }

  /** @throws LockUnavailableError */
  session(key: string): Session {
    try {
      return this.keeper.session;
    } catch (error) {
      throw this.#unavailable(key, error);
    }
  }

  /** @throws LockUnavailableError with what the server said, or with what became of the connection. */
  async ask(key: string, statement: Statement, values?: readonly unknown[]): Promise<readonly Row[]> {
    const session = this.session(key);
    const rows = await this.or(key, session.ask(statement, values));
    // Its answer and the end of the connection may come in one packet.
    if (session.lost) throw this.#unavailable(key, session.lost);
    return rows;
  }

  /** For what belongs to no key. Rejects with the name of the server and the reason. */
  async query<T>(ask: (session: Session) => Promise<T>): Promise<T> {
    try {
      return await ask(this.keeper.session);
    } catch (error) {
      throw new Error(`${this.#name}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** @throws LockUnavailableError with the reason for which that failed. */
  or<T>(key: string, asked: Promise<T>): Promise<T> {
    return asked.catch((error: unknown) => {
      throw this.#unavailable(key, error);
    });
  }

  /** One attempt, unless this process has the key already. Granted if there is a token in the row. */
  async take(key: string, owner: string, ttlMs: number, attempt: Attempt): Promise<Taken> {
    const id = lockId(key);
    for (;;) {
      this.session(key);
      const by = this.held.find(id);
      if (by && !this.held.expire(by)) return { by };
      const asking = this.#asking.present(id.lock);
      if (!asking) {
        return { row: await this.#asking.start(id.lock, () => this.#attempt(key, owner, ttlMs, attempt)) };
      }
      await asking;
    }
  }

  /** Prolongs the lease from the answer to a question that is asked now. False: not this owner's any more. */
  async prolong(held: HeldKey, ttlMs: number, ask: (session: Session) => Promise<unknown>): Promise<boolean> {
    const { key, id, owner } = held;
    const session = this.session(key);
    this.#cover(session, ttlMs);
    try {
      await ask(session);
      if (session.lost) throw session.lost;
    } catch (error) {
      throw this.#unavailable(key, error);
    }
    if (this.held.owned(id, owner) !== held) return false;
    this.held.renew(held, ttlMs);
    return true;
  }

  /** Runs `mark`, which says whether the lock shows as alone after it; one such change of a lock at a time. False: not this owner's any more. */
  async becomeAlone(held: HeldKey, ttlMs: number, mark: Mark): Promise<boolean | undefined> {
    while (held.changing) await held.changing;
    if (this.held.owned(held.id, held.owner) !== held) return false;
    let marked: boolean | undefined;
    const prolonged = this.prolong(held, ttlMs, async (session) => {
      const already = held.alone;
      marked = await mark(session, already).catch((error: Error) => {
        session.lose(error); // whether it shows now cannot be found out
        throw error;
      });
      if (!marked || already) return;
      if (this.held.find(held.id) === held) held.alone = true;
      else void this.dropAlone(session); // released meanwhile
    });
    held.changing = ended(prolonged).then(() => (held.changing = undefined));
    return (await prolonged) ? marked || undefined : false;
  }

  /** Ends that the lock shows as alone. */
  async becomeShared(held: HeldKey, ttlMs: number): Promise<boolean> {
    while (held.changing) await held.changing;
    if (!held.alone) return this.prolong(held, ttlMs, (session) => session.alive());
    held.alone = false;
    return this.prolong(held, ttlMs, (session) => this.dropAlone(session));
  }

  async giveBack(held: HeldKey, keepForMs: number): Promise<void> {
    const { key, id, owner } = held;
    const session = this.session(key);
    this.held.remove(held);
    const keeping = keepForMs > 0;
    const asked = keeping
      ? this.ask(key, RELEASE_KEEPING, [id.lock, readable(key), owner, keepForMs])
      : this.ask(key, RELEASE, [id.lock, id.waiters, held.alone]);
    // Only once it is committed that the key is kept: who finds nothing alone must find that.
    if (keeping && held.alone) void this.dropAlone(session);
    const [row] = await asked.catch((error: unknown) => {
      if (held.alone) session.lose(error as Error);
      else this.#undo(session, id.lock);
      throw error;
    });
    if (row?.['freed'] !== 't') {
      const reason = new Error('the session no longer had a lock that it was to give back');
      session.lose(reason);
      throw this.#unavailable(key, reason);
    }
    this.free.wake(id.lock);
  }

  /** The server must not end the session of a frozen holder before its lease is over. Done before anything that is asked later. */
  #cover(session: Session, ttlMs: number): void {
    const limitMs = idleLimitMs(this.settings, ttlMs);
    if (limitMs <= this.#idleLimitMs) return;
    this.#idleLimitMs = limitMs;
    session.ask(idleLimit(limitMs)).catch((error: Error) => session.lose(error));
  }

  async dropAlone(session: Session): Promise<void> {
    await session.ask(DROP_ALONE).catch((error: Error) => session.lose(error));
  }

  async #attempt(key: string, owner: string, ttlMs: number, attempt: Attempt): Promise<Row> {
    const { statement, values = [], alone = false } = attempt;
    const session = this.session(key);
    const id = lockId(key);
    this.#cover(session, ttlMs);
    const [row = {}] = await this.ask(key, statement, [id.lock, readable(key), owner, ...values]).catch(
      (error: unknown) => {
        // Whether it had come to be alone cannot be found out, and one mark too many would be there for good.
        if (alone) session.lose(error as Error);
        else this.#undo(session, id.lock);
        throw error;
      },
    );
    if (row['token']) this.held.add(key, id, owner, ttlMs, alone);
    return row;
  }

  /** A key came free, or its lock is to be given back. */
  #told(payload: string): void {
    const end = payload.indexOf(' ');
    if (end < 0) return this.free.wake(payload);
    const held = this.held.find({ lock: payload.slice(0, end), waiters: '' });
    // Its holder hears of it when it next renews, as of a lock that is gone from any store.
    if (held?.owner === payload.slice(end + 1)) this.giveBack(held, 0).catch(() => undefined); // its session is gone then
  }

  #expired(held: HeldKey): void {
    tellLost(held);
    // Nobody waits for it; if it fails, the session is gone, and the lock with it.
    this.giveBack(held, 0).catch(() => undefined);
  }

  #undo(session: Session, lock: AdvisoryId): void {
    session.ask(UNDO, [lock]).catch((error: Error) => session.lose(error));
  }

  #unavailable(key: string, cause: unknown): LockUnavailableError {
    if (cause instanceof LockUnavailableError) return cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    return new LockUnavailableError(key, [{ node: this.#name, reason }]);
  }
}
