import { outlasting } from '../../deadline.js';
import { LockUnavailableError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import { together } from '../joint-answer.js';
import type { AcquireResult, Lease, LockState, LockStore, Place } from '../lock-store.js';
import type { StoreObserver } from '../store-observer.js';
import type { AuthorityLease } from './authority-lease.js';
import type { FallbackStore } from './fallback-store.js';
import type { Hold } from './hold.js';
import { Holds } from './holds.js';
import type { PrimaryStore } from './primary-store.js';

/** The row changes rarely: an attempt that finds it changed this often gives up. */
const MOST_CHANGES = 3;

/** Redis, with a fallback that stands in for it while it is away. docs/failover.md has the protocol, and why no two holders meet. */
export class FailoverStore implements LockStore {
  // It has no `take`: a turn has a token that Redis counted on by itself; one that is above what Postgres gave out is only had by asking.
  readonly #holds: Holds;
  readonly leave?: (key: string, owner: string) => void;

  constructor(
    private readonly redis: PrimaryStore,
    private readonly postgres: FallbackStore,
    private readonly lease: AuthorityLease,
    private readonly runtime: Runtime,
  ) {
    this.#holds = new Holds(runtime.clock);
    if (redis.leave) this.leave = (key, owner) => redis.leave!(key, owner);
  }

  acquire(key: string, owner: string, ttlMs: number, place?: Place): Promise<AcquireResult> {
    // At once where it can be, so that what is asked for together goes out together.
    return this.lease.mayGrant(ttlMs)
      ? this.#acquireOnRedis(key, owner, ttlMs, place)
      : this.#acquire(key, owner, ttlMs, place).finally(() => {
          // The place that this one was to take, where it did not get to Redis.
          if (place?.after !== undefined) this.redis.leave?.(key, place.after);
        });
  }

  async renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    const hold = this.#holds.find(key, owner);
    if (!hold) return false;
    const ours = await this.#renew(hold, ttlMs);
    this.#holds.prolong(hold, ttlMs);
    return ours;
  }

  /** Together what only Redis has, while it decides; the rest one by one. */
  renewAll(leases: readonly Lease[], ttlMs: number): void {
    const onRedis: Lease[] = [];
    for (const lease of leases) {
      const { key, owner } = lease;
      const hold = this.#holds.find(key, owner);
      if (hold?.postgres === 'none' && hold.redisOwner === owner && this.redis.renewAll && this.lease.mayRenew) {
        this.#holds.prolong(hold, ttlMs);
        onRedis.push(lease);
      } else {
        this.renew(key, owner, ttlMs).then(
          (ours) => lease.renewed(ours),
          (error: unknown) => lease.unclear(error),
        );
      }
    }
    if (onRedis.length > 0) this.redis.renewAll!(onRedis, ttlMs);
  }

  async release(key: string, owner: string, keepForMs?: number): Promise<boolean> {
    const hold = this.#holds.find(key, owner);
    if (!hold) return false;
    this.#holds.remove(hold);
    hold.released = true;
    const { redisOwner, postgres } = hold;
    hold.offPostgres();
    const fromRedis = redisOwner === undefined ? undefined : this.redis.release(key, redisOwner, keepForMs);
    if (postgres === 'none') return fromRedis ?? false;
    fromRedis?.catch(() => undefined); // it frees itself there at its ttl; Postgres knows whose the lock was
    return this.postgres.release(key, owner, keepForMs);
  }

  async raise(key: string, owner: string, fencingToken: number): Promise<boolean> {
    const hold = this.#holds.find(key, owner);
    if (!hold) return false;
    const { redisOwner, postgres } = hold;
    if (postgres !== 'none' && !(await this.postgres.raise(key, owner, fencingToken))) return false;
    const behind = redisOwner !== undefined && hold.redisFence < fencingToken;
    if (behind && !(await this.redis.raise(key, redisOwner, fencingToken))) return false;
    hold.token = fencingToken;
    return true;
  }

  together<T>(ask: () => T): T {
    return this.redis.together ? this.redis.together(ask) : ask();
  }

  async inspect(key: string): Promise<LockState> {
    const state = this.lease.authority?.state ?? (await this.#look(key));
    if (state === 'REDIS') return this.redis.inspect!(key);
    const onPostgres = await this.postgres.inspect!(key);
    return state === 'DRAINING' && !onPostgres.locked ? this.redis.inspect!(key) : onPostgres;
  }

  onFree(key: string, wake: () => void, owner?: string): () => void {
    const stops = [this.redis.onFree?.(key, wake, owner), this.postgres.onFree?.(key, wake)];
    return () => stops.forEach((stop) => stop?.());
  }

  observe(observer: StoreObserver): () => void {
    const stops = [
      this.redis.observe?.(observer),
      this.postgres.observe?.(observer),
      this.lease.observe((change) => observer.authorityChanged(change)),
    ];
    return () => stops.forEach((stop) => stop?.());
  }

  onLoss(key: string, owner: string, lost: () => void): () => void {
    const hold = this.#holds.find(key, owner);
    if (hold) return hold.onLoss(lost);
    lost();
    return () => undefined;
  }

  async close(): Promise<void> {
    this.lease.stop();
    await Promise.all([this.redis.close?.(), this.postgres.close?.()]);
  }

  async #acquire(key: string, owner: string, ttlMs: number, place?: Place): Promise<AcquireResult> {
    this.lease.announce(ttlMs);
    for (let changes = 0; changes < MOST_CHANGES; changes++) {
      const state = await this.#stateFor(key, ttlMs);
      if (state === 'REDIS') return this.#acquireOnRedis(key, owner, ttlMs, place);
      if (state === 'DRAINING') break;
      const result = await this.#acquireOnPostgres(state, key, owner, ttlMs);
      if (result) return result;
      await this.#look(key);
    }
    const { leaseMs, ttlMs: longestMs, reason } = this.lease.authority!;
    const within = Math.ceil(outlasting(leaseMs + longestMs) / 1000);
    throw unavailable(
      key,
      `locks are moving from one store to the other (${reason}); try again in ${within} s or less`,
    );
  }

  async #acquireOnRedis(key: string, owner: string, ttlMs: number, place?: Place): Promise<AcquireResult> {
    const { epoch, tokenFloor = 0, tokenLead } = this.lease.authority ?? {};
    this.redis.proposeAbove(tokenFloor, tokenLead);
    const result = await this.redis.acquire(key, owner, ttlMs, place);
    if (!result.acquired) return result;
    const { fencingToken } = result;
    if (!this.lease.confirms(epoch, fencingToken)) {
      // The process stood still meanwhile, or the token is above the range that was set aside.
      this.lease.announce(ttlMs, fencingToken);
      await this.#look(key).catch(() => undefined); // then it does not confirm either
      if (!this.lease.confirms(epoch, fencingToken)) {
        this.redis.release(key, owner).catch(() => undefined); // it frees itself at its ttl
        throw unavailable(key, 'Redis granted it, but no longer decides');
      }
    }
    this.#holds.add(key, owner, fencingToken, ttlMs).redisOwner = owner;
    return result;
  }

  async #acquireOnPostgres(
    state: 'POSTGRES' | 'BOTH',
    key: string,
    owner: string,
    ttlMs: number,
  ): Promise<AcquireResult | undefined> {
    const result = await this.postgres.acquireUnder(state, key, owner, ttlMs);
    if (!result?.acquired) return result;
    const hold = this.#holds.add(key, owner, result.fencingToken, ttlMs);
    this.#onPostgres(hold, state === 'POSTGRES' ? 'alone' : 'too');
    if (state === 'POSTGRES') return result;
    try {
      const joined = await this.#join(hold, ttlMs);
      if (joined.acquired) return result;
      this.#giveBack(hold);
      return joined;
    } catch (error) {
      this.#giveBack(hold);
      throw error;
    }
  }

  #renew(hold: Hold, ttlMs: number): Promise<boolean> {
    if (hold.postgres === 'alone') {
      const mayJoin = this.lease.authority?.state === 'BOTH';
      return mayJoin ? this.#renewAndJoin(hold, ttlMs) : this.postgres.renew(hold.key, hold.owner, ttlMs);
    }
    return hold.postgres === 'too' ? this.#renewOnBoth(hold, ttlMs) : this.#renewOnRedis(hold, ttlMs);
  }

  async #renewOnRedis(hold: Hold, ttlMs: number): Promise<boolean> {
    if (!this.lease.mayRenew && !this.lease.redisIsClosed) await this.#look(hold.key);
    if (this.lease.mayRenew) return this.redis.renew(hold.key, hold.redisOwner!, ttlMs);
    if (this.lease.redisIsClosed) return this.#carry(hold, ttlMs);
    throw unavailable(hold.key, 'Redis does not decide at present');
  }

  #renewOnBoth(hold: Hold, ttlMs: number): Promise<boolean> {
    const { key, owner } = hold;
    const { authority, mayRenew, redisIsClosed } = this.lease;
    if (authority?.state === 'POSTGRES') return this.#stand(hold, this.postgres.renewAlone(key, owner, ttlMs, true));
    if (redisIsClosed) return this.#carry(hold, ttlMs);
    if (authority?.state === 'REDIS' && mayRenew) {
      hold.offPostgres();
      this.postgres.release(key, owner).catch(() => undefined); // it is swept there at its ttl
      return this.#renewOnRedis(hold, ttlMs);
    }
    return together([this.postgres.renew(key, owner, ttlMs), this.redis.renew(key, hold.redisOwner!, ttlMs)]);
  }

  #carry(hold: Hold, ttlMs: number): Promise<boolean> {
    const { epoch } = this.lease.authority!;
    return this.#stand(hold, this.postgres.carry(epoch, hold.key, hold.owner, ttlMs, hold.token));
  }

  /** From now on Postgres alone has it. */
  async #stand(hold: Hold, asked: Promise<boolean | undefined>): Promise<boolean> {
    const ours = await asked;
    if (ours === undefined) throw unavailable(hold.key, 'the authority has changed meanwhile');
    if (!ours) return false;
    this.redis.release(hold.key, hold.redisOwner!).catch(() => undefined); // it frees itself there at its ttl
    hold.redisOwner = undefined;
    this.#onPostgres(hold, 'alone');
    return true;
  }

  /** On the way back: what only Postgres has is taken on Redis, too. Where that fails it stays as it is. */
  async #renewAndJoin(hold: Hold, ttlMs: number): Promise<boolean> {
    const joined = await this.#join(hold, ttlMs).catch(() => undefined);
    if (!joined?.acquired) return this.postgres.renew(hold.key, hold.owner, ttlMs);
    const ours = await this.postgres.renewAlone(hold.key, hold.owner, ttlMs, false);
    if (ours && !hold.released) hold.onPostgres('too', undefined);
    return ours === true;
  }

  async #join(hold: Hold, ttlMs: number): Promise<AcquireResult> {
    this.redis.proposeAbove(hold.token);
    const redisOwner = `${hold.owner}/${this.runtime.random.id()}`;
    const result = await this.redis.acquire(hold.key, redisOwner, ttlMs);
    if (!result.acquired) return result;
    hold.redisOwner = redisOwner;
    hold.redisFence = result.fencingToken;
    if (hold.released) this.redis.release(hold.key, redisOwner).catch(() => undefined); // it frees itself at its ttl
    return result;
  }

  #onPostgres(hold: Hold, as: 'too' | 'alone'): void {
    const { key, owner } = hold;
    if (hold.released) {
      this.postgres.release(key, owner).catch(() => undefined); // it is swept there at its ttl
      return;
    }
    const { postgres } = this;
    hold.onPostgres(as, postgres.onLoss && ((lost) => postgres.onLoss!(key, owner, lost)));
  }

  #giveBack({ key, owner }: Hold): void {
    this.release(key, owner).catch(() => undefined); // it frees itself at its ttl
  }

  /** The state to act on: as last seen, where that still counts, or the store itself will tell if it has changed. */
  async #stateFor(key: string, ttlMs: number) {
    const { authority } = this.lease;
    const known = authority && (authority.state !== 'REDIS' ? ttlMs <= authority.ttlMs : this.lease.mayGrant(ttlMs));
    return known ? authority.state : this.#look(key);
  }

  /** Where the row is out of reach, Redis goes on if it may. */
  async #look(key: string) {
    try {
      return (await this.lease.look()).state;
    } catch (error) {
      if (this.lease.unchecked) return 'REDIS';
      throw unavailable(key, `the authority row is out of reach: ${(error as Error).message}`);
    }
  }
}

function unavailable(key: string, reason: string): LockUnavailableError {
  return new LockUnavailableError(key, [{ node: 'authority', reason }]);
}
