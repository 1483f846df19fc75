import type { Runtime } from '../../runtime.js';
import type { Authority, AuthorityState, PodReport } from '../failover/authority.js';
import type { FallbackStore } from '../failover/fallback-store.js';
import type { AcquireResult, KeyPage, KeyQuery, LockState } from '../lock-store.js';
import { ofNodes, type StoreHealth } from '../store-health.js';
import type { StoreObserver } from '../store-observer.js';
import type { StoreContext } from '../store-source.js';
import { AdvisoryLocks, type Taken } from './advisory-locks.js';
import { consult, move } from './authority-table.js';
import { ACQUIRE_UNDER, BECOME_ALONE, CARRY } from './guarded-statements.js';
import type { HeldKey } from './held-keys.js';
import { lockId, readable } from './lock-id.js';
import { toLockState } from './lock-row.js';
import { listKeys } from './fence-listing.js';
import { forceRelease } from './forced-release.js';
import { ACQUIRE, RAISE } from './lock-statements.js';
import { INSPECT } from './look-statements.js';
import type { ClientFactory, Row } from './pg-client.js';
import type { PostgresSettings } from './postgres.options.js';
import type { Statement } from './session.js';

/**
 * Advisory locks of PostgreSQL, all of this process on one connection of its own. They live as long as it does: when it breaks, every lock on it is lost, and its holder told.
 * The server does not know of the leases; that this process frees what is over, or else that the server ends its session, is what makes a ttl of them.
 */
export class PostgresStore implements FallbackStore {
  readonly #locks: AdvisoryLocks;

  constructor(
    create: ClientFactory,
    private readonly settings: PostgresSettings,
    context: StoreContext,
    private readonly runtime: Runtime,
  ) {
    this.#locks = new AdvisoryLocks(create, settings, context, runtime);
  }

  /**
   * Connects. A server out of reach is logged, and tried again in the background.
   * @throws LockOptionsError when the server answers that it cannot work.
   */
  open(): Promise<void> {
    return this.#locks.keeper.open();
  }

  async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
    return toResult(await this.#locks.take(key, owner, ttlMs, { statement: ACQUIRE }));
  }

  async renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    const held = this.#owned(key, owner);
    return held ? this.#locks.prolong(held, ttlMs, (session) => session.alive()) : false;
  }

  async release(key: string, owner: string, keepForMs = 0): Promise<boolean> {
    const held = this.#owned(key, owner);
    if (!held) return false;
    await this.#locks.giveBack(held, keepForMs);
    return true;
  }

  /** @inheritDoc */
  async raise(key: string, owner: string, fencingToken: number): Promise<boolean> {
    const held = this.#owned(key, owner);
    return held ? (await this.#locks.ask(key, RAISE, [held.id.lock, owner, fencingToken])).length > 0 : false;
  }

  async inspect(key: string): Promise<LockState> {
    const id = lockId(key);
    this.#locks.session(key);
    const held = this.#locks.held.find(id);
    if (held) this.#locks.held.expire(held);
    const [row = {}] = await this.#locks.ask(key, INSPECT, [id.lock, id.waiters]);
    return toLockState(row, this.#locks.held.find(id)?.lease.remaining);
  }

  list(query: KeyQuery): Promise<KeyPage> {
    const ask = (statement: Statement, values: readonly unknown[]) => this.#locks.ask(query.prefix, statement, values);
    return listKeys(query, ask, (key) => this.#locks.held.find(lockId(key))?.lease.remaining);
  }

  forceRelease(key: string): Promise<boolean> {
    const ask = (statement: Statement, values: readonly unknown[]) => this.#locks.ask(key, statement, values);
    return this.#locks.or(key, forceRelease(lockId(key), ask, this.runtime.timers, this.settings.timeoutMs));
  }

  onFree(key: string, wake: () => void): () => void {
    return this.#locks.free.subscribe(key, wake);
  }

  onLoss(key: string, owner: string, lost: () => void): () => void {
    return this.#locks.held.onLoss(lockId(key), owner, lost);
  }

  async check(): Promise<StoreHealth> {
    return ofNodes([await this.#locks.keeper.check()], 1);
  }

  observe(observer: StoreObserver): () => void {
    return this.#locks.keeper.reachability.observe(observer);
  }

  async close(): Promise<void> {
    await this.#locks.close();
  }

  async acquireUnder(
    state: 'POSTGRES' | 'BOTH',
    key: string,
    owner: string,
    ttlMs: number,
  ): Promise<AcquireResult | undefined> {
    const attempt = { statement: ACQUIRE_UNDER, values: [state], alone: state === 'POSTGRES' };
    const taken = await this.#locks.take(key, owner, ttlMs, attempt);
    return 'row' in taken && isElsewhere(taken.row) ? undefined : toResult(taken);
  }

  async carry(
    epoch: number,
    key: string,
    owner: string,
    ttlMs: number,
    fencingToken: number,
  ): Promise<boolean | undefined> {
    const attempt = { statement: CARRY, values: [epoch, fencingToken, false, false], alone: true };
    const taken = await this.#locks.take(key, owner, ttlMs, attempt);
    if ('row' in taken) return isElsewhere(taken.row) ? undefined : taken.row['token'] != null;
    if (taken.by.owner !== owner) return false;
    return this.#locks.becomeAlone(taken.by, ttlMs, async (session, already) => {
      const values = [taken.by.id.lock, readable(key), owner, epoch, fencingToken, true, already];
      const [row = {}] = await session.ask(CARRY, values);
      return row['token'] != null;
    });
  }

  async renewAlone(key: string, owner: string, ttlMs: number, alone: boolean): Promise<boolean | undefined> {
    const held = this.#owned(key, owner);
    if (!held) return false;
    if (!alone) return this.#locks.becomeShared(held, ttlMs);
    return this.#locks.becomeAlone(held, ttlMs, async (session, already) => {
      const [row] = await session.ask(BECOME_ALONE, [already]);
      return row?.['marked'] === 't';
    });
  }

  consult(report: PodReport): Promise<Authority> {
    return this.#locks.query((session) => consult(session, report));
  }

  move(epoch: number, to: AuthorityState, reason: string): Promise<Authority> {
    return this.#locks.query((session) => move(session, epoch, to, reason));
  }

  /** @throws LockUnavailableError while there is no connection: what was held on the last one is lost, but nobody can tell what is held now. */
  #owned(key: string, owner: string): HeldKey | undefined {
    this.#locks.session(key);
    return this.#locks.held.owned(lockId(key), owner);
  }
}

function toResult(taken: Taken): AcquireResult {
  if ('by' in taken) return { acquired: false, retryAfterMs: Math.ceil(taken.by.lease.remaining) };
  const { token, kept_ms: keptMs } = taken.row;
  if (token) return { acquired: true, fencingToken: Number(token) };
  return Number(keptMs ?? 0) > 0 ? { acquired: false, retryAfterMs: Number(keptMs) } : { acquired: false };
}

/** The row names another state, or is about to: a change to REDIS is looking whether anything is alone. */
function isElsewhere({ permitted, marked }: Row): boolean {
  return permitted !== 't' || marked !== 't';
}
