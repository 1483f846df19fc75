import { LockUnavailableError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { AcquireResult, KeyPage, KeyQuery, LockState, LockStore } from '../lock-store.js';
import { ofNodes, type StoreHealth } from '../store-health.js';
import type { StoreObserver } from '../store-observer.js';
import type { StoreContext } from '../store-source.js';
import { Asking } from './asking.js';
import { FenceCleaning } from './fence-cleaning.js';
import { HeldKeys, tellLost, type HeldKey } from './held-keys.js';
import { lockId, readable, type LockId } from './lock-id.js';
import { listKeys } from './fence-listing.js';
import { forceRelease } from './forced-release.js';
import { RAISE } from './lock-statements.js';
import { INSPECT } from './look-statements.js';
import { toLockState } from './lock-row.js';
import type { ClientFactory, Row } from './pg-client.js';
import { idleLimitMs, type PostgresSettings } from './postgres.options.js';
import { SessionKeeper } from './session-keeper.js';
import { setUp } from './session-setup.js';
import { Session, type Statement } from './session.js';
import { KEEP, TOKEN } from './transaction-statements.js';
import { Transactions, type Transaction } from './transactions.js';

/** How long `close` waits for the server to take note. */
const GOODBYE_MS = 500;

/**
 * Locks through a proxy that pools by transaction: each is a transaction of its own, on a connection of its own, for as long as it is held. What must be seen by
 * others while it is held goes through one more connection, which any backend may answer.
 */
export class TransactionStore implements LockStore {
  readonly #name: string;
  readonly #keeper: SessionKeeper;
  readonly #held: HeldKeys;
  readonly #transactions: Transactions;
  readonly #open = new Map<HeldKey, Transaction>();
  readonly #asking = new Asking();

  constructor(
    create: ClientFactory,
    private readonly settings: PostgresSettings,
    context: StoreContext,
    private readonly runtime: Runtime,
  ) {
    const { host, port } = create();
    const make = (): Session => new Session(create(), { ...settings, prepare: false }, runtime);
    this.#name = `postgres ${host}:${port}`;
    this.#held = new HeldKeys(runtime, (held) => this.#expired(held));
    this.#transactions = new Transactions(make, settings.connections);
    const cleaning = new FenceCleaning(runtime);
    this.#keeper = new SessionKeeper(
      this.#name,
      make,
      (session) => setUp(session, { name: this.#name, createTables: settings.createTables }),
      { up: (session) => cleaning.up(session), down: () => cleaning.down() },
      context.log,
      runtime,
    );
  }

  /**
   * Connects. A server out of reach is logged, and tried again in the background.
   * @throws LockOptionsError when the server answers that it cannot work.
   */
  open(): Promise<void> {
    return this.#keeper.open();
  }

  async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
    const id = lockId(key);
    for (;;) {
      const held = this.#held.find(id);
      if (held && !this.#held.expire(held)) return { acquired: false, retryAfterMs: Math.ceil(held.lease.remaining) };
      const asking = this.#asking.present(id.lock);
      if (!asking) return this.#asking.start(id.lock, () => this.#attempt(key, id, owner, ttlMs));
      await asking;
    }
  }

  async renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    const id = lockId(key);
    const held = this.#held.owned(id, owner);
    const transaction = held && this.#open.get(held);
    if (!transaction) return false;
    transaction.cover(idleLimitMs(this.settings, ttlMs));
    await this.#or(key, () => transaction.session.alive());
    if (this.#held.owned(id, owner) !== held) return false;
    this.#held.renew(held, ttlMs);
    return true;
  }

  async release(key: string, owner: string, keepForMs = 0): Promise<boolean> {
    const held = this.#held.owned(lockId(key), owner);
    if (!held) return false;
    await this.#giveBack(held, keepForMs);
    return true;
  }

  async raise(key: string, owner: string, fencingToken: number): Promise<boolean> {
    const held = this.#held.owned(lockId(key), owner);
    return held ? (await this.#ask(key, RAISE, [held.id.lock, owner, fencingToken])).length > 0 : false;
  }

  async inspect(key: string): Promise<LockState> {
    const id = lockId(key);
    const held = this.#held.find(id);
    if (held && this.#held.expire(held)) await this.#asking.present(id.lock);
    const [row = {}] = await this.#ask(key, INSPECT, [id.lock, id.waiters]);
    // Those that wait through a proxy do not show.
    return toLockState({ ...row, waiters: null }, this.#held.find(id)?.lease.remaining);
  }

  list(query: KeyQuery): Promise<KeyPage> {
    const ask = (statement: Statement, values: readonly unknown[]) => this.#ask(query.prefix, statement, values);
    return listKeys(query, ask, (key) => this.#held.find(lockId(key))?.lease.remaining);
  }

  forceRelease(key: string): Promise<boolean> {
    const { timers } = this.runtime;
    return this.#or(key, () =>
      forceRelease(
        lockId(key),
        (...question) => this.#keeper.session.ask(...question),
        timers,
        this.settings.timeoutMs,
      ),
    );
  }

  onLoss(key: string, owner: string, lost: () => void): () => void {
    return this.#held.onLoss(lockId(key), owner, lost);
  }

  async check(): Promise<StoreHealth> {
    return ofNodes([await this.#keeper.check()], 1);
  }

  observe(observer: StoreObserver): () => void {
    return this.#keeper.reachability.observe(observer);
  }

  async close(): Promise<void> {
    await Promise.all([
      this.#keeper.close(GOODBYE_MS),
      this.#transactions.close(new Error('the store is closed'), GOODBYE_MS),
    ]);
  }

  async #attempt(key: string, id: LockId, owner: string, ttlMs: number): Promise<AcquireResult> {
    await this.#or(key, async () => this.#keeper.session); // without it there is no token
    const transaction = await this.#or(key, () => this.#transactions.begin(id.lock, idleLimitMs(this.settings, ttlMs)));
    if (!transaction) return { acquired: false };
    const { session } = transaction;
    const { token, kept_ms: keptMs } = await this.#or(key, async () => {
      try {
        const [row = {}] = await this.#keeper.session.ask(TOKEN, [id.lock, readable(key), owner]);
        // Only if the lock was held for all that time is the token above those before it, and below those after.
        if (row['token']) await session.alive();
        else await transaction.end();
        if (session.lost) throw session.lost;
        return row;
      } catch (error) {
        session.lose(error as Error);
        throw error;
      }
    });
    if (!token) return Number(keptMs) > 0 ? { acquired: false, retryAfterMs: Number(keptMs) } : { acquired: false };
    const held = this.#held.add(key, id, owner, ttlMs, false);
    this.#open.set(held, transaction);
    transaction.onLost = () => {
      this.#open.delete(held);
      if (this.#held.find(id) !== held) return;
      this.#held.remove(held);
      tellLost(held);
    };
    return { acquired: true, fencingToken: Number(token) };
  }

  /** The next attempt at the key waits for it, as for an attempt. */
  async #giveBack(held: HeldKey, keepForMs: number): Promise<void> {
    const { key, id, owner } = held;
    const transaction = this.#open.get(held);
    this.#held.remove(held);
    if (!transaction) return;
    await this.#asking.start(id.lock, () =>
      this.#or(key, async () => {
        try {
          if (keepForMs > 0) await this.#keeper.session.ask(KEEP, [id.lock, readable(key), owner, keepForMs]);
          await transaction.end();
        } catch (error) {
          transaction.session.lose(error as Error); // and with it the lock
          throw error;
        } finally {
          this.#open.delete(held);
        }
      }),
    );
  }

  #expired(held: HeldKey): void {
    tellLost(held);
    this.#giveBack(held, 0).catch(() => undefined); // its connection is gone, and the lock with it
  }

  #ask(key: string, statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#or(key, async () => this.#keeper.session.ask(statement, values));
  }

  async #or<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw new LockUnavailableError(key, [{ node: this.#name, reason: (error as Error).message }]);
    }
  }
}
