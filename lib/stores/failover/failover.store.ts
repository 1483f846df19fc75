import { outlasting } from '../../deadline.js';
import type { Runtime } from '../../runtime.js';
import type { AcquireResult, KeyPage, KeyQuery, Lease, LockState, LockStore, Place } from '../lock-store.js';
import type { StoreHealth } from '../store-health.js';
import type { StoreObserver } from '../store-observer.js';
import type { AuthorityLease } from './authority-lease.js';
import type { FallbackStore } from './fallback-store.js';
import type { Hold } from './hold.js';
import { HoldRenewal } from './hold-renewal.js';
import { Holds } from './holds.js';
import { listBoth } from './joint-listing.js';
import type { PrimaryStore } from './primary-store.js';
import { passing, undecided } from './undecided.js';
import { settle } from '../settle.js';

/** The row changes rarely: an attempt that finds it changed this often gives up. */
const MOST_CHANGES = 3;

/** Redis, with a fallback that stands in for it while it is away. docs/failover.md has the protocol, and why no two holders meet. */
export class FailoverStore implements LockStore {
  // It has no `take`: a turn has a token that Redis counted on by itself; one that is above what Postgres gave out is only had by asking.
  readonly #holds: Holds;
  readonly #renewal: HoldRenewal;
  readonly leave?: (key: string, owner: string) => void;
  readonly list?: (query: KeyQuery) => Promise<KeyPage>;
  readonly forceRelease?: (key: string) => Promise<boolean>;

  constructor(
    private readonly redis: PrimaryStore,
    private readonly postgres: FallbackStore,
    private readonly lease: AuthorityLease,
    runtime: Runtime,
  ) {
    this.#holds = new Holds(runtime.clock);
    this.#renewal = new HoldRenewal(redis, postgres, lease, runtime.random);
    if (redis.leave) this.leave = (key, owner) => redis.leave!(key, owner);
    if (redis.list && postgres.list) this.list = (query) => this.#list(query);
    if (redis.forceRelease && postgres.forceRelease) this.forceRelease = (key) => this.#forceRelease(key);
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
    const ours = await this.#renewal.renew(hold, ttlMs);
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
        settle(lease, this.renew(key, owner, ttlMs));
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
    const state = this.lease.authority?.state ?? (await this.lease.stateFor(key));
    if (state === 'REDIS') return this.redis.inspect!(key);
    const onPostgres = await this.postgres.inspect!(key);
    return state === 'DRAINING' && !onPostgres.locked ? this.redis.inspect!(key) : onPostgres;
  }

  onFree(key: string, wake: () => void, owner?: string): () => void {
    const stops = [this.redis.onFree?.(key, wake, owner), this.postgres.onFree?.(key, wake)];
    return () => stops.forEach((stop) => stop?.());
  }

  /** While Redis decides, the fallback is only needed for its row; while it does not, all that works is a stand-in. */
  async check(): Promise<StoreHealth> {
    const [redis, postgres] = await Promise.all([this.redis.check!(), this.postgres.check!()]);
    const nodes = [...redis.nodes, ...postgres.nodes];
    const { authority, mayRenew } = this.lease;
    const state = authority?.state;
    if (state === undefined) return { status: mayRenew ? 'degraded' : 'down', nodes };
    const works = state === 'REDIS' ? redis.status !== 'down' && mayRenew : postgres.status !== 'down';
    const well = state === 'REDIS' && redis.status === 'up' && postgres.status === 'up';
    return { status: !works ? 'down' : well ? 'up' : 'degraded', nodes, authority: state };
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

  async #list(query: KeyQuery): Promise<KeyPage> {
    const { redis, postgres } = this;
    const state = this.lease.authority?.state ?? (await this.lease.stateFor(query.prefix));
    // While locks move to Postgres, some are there already.
    const isMoving = state === 'DRAINING';
    return listBoth(
      query,
      isMoving || state !== 'REDIS' ? postgres : undefined,
      isMoving || state === 'REDIS' ? redis : undefined,
    );
  }

  /** From every store that may decide whose it is. */
  async #forceRelease(key: string): Promise<boolean> {
    const state = this.lease.authority?.state ?? (await this.lease.stateFor(key));
    const asked: Promise<boolean>[] = [];
    if (state !== 'POSTGRES') asked.push(this.redis.forceRelease!(key));
    if (state !== 'REDIS') asked.push(this.postgres.forceRelease!(key));
    const outcomes = await Promise.allSettled(asked);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
    return outcomes.some((outcome) => outcome.status === 'fulfilled' && outcome.value);
  }

  async #acquire(key: string, owner: string, ttlMs: number, place?: Place): Promise<AcquireResult> {
    this.lease.announce(ttlMs);
    for (let changes = 0; changes < MOST_CHANGES; changes++) {
      const state = await this.#stateFor(key, ttlMs);
      if (state === 'REDIS') return this.#acquireOnRedis(key, owner, ttlMs, place);
      if (state === 'DRAINING') break;
      const result = await this.#acquireOnPostgres(state, key, owner, ttlMs);
      if (result) return result;
      await this.lease.stateFor(key);
    }
    const { leaseMs, ttlMs: longestMs, reason } = this.lease.authority!;
    const within = Math.ceil(outlasting(leaseMs + longestMs) / 1000);
    throw undecided(key, `locks are moving from one store to the other (${reason}); try again in ${within} s or less`);
  }

  async #acquireOnRedis(key: string, owner: string, ttlMs: number, place?: Place): Promise<AcquireResult> {
    const { epoch, tokenFloor = 0, tokenLead } = this.lease.authority ?? {};
    this.redis.proposeAbove(tokenFloor, tokenLead);
    let result: AcquireResult;
    try {
      result = await this.redis.acquire(key, owner, ttlMs, place);
    } catch (error) {
      throw passing(error);
    }
    if (!result.acquired) return result;
    const { fencingToken } = result;
    if (!this.lease.confirms(epoch, fencingToken)) {
      // The process stood still meanwhile, or the token is above the range that was set aside.
      this.lease.announce(ttlMs, fencingToken);
      await this.lease.stateFor(key).catch(() => undefined); // then it does not confirm either
      if (!this.lease.confirms(epoch, fencingToken)) {
        this.redis.release(key, owner).catch(() => undefined); // it frees itself at its ttl
        throw undecided(key, 'Redis granted it, but no longer decides');
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
    this.#renewal.onPostgres(hold, state === 'POSTGRES' ? 'alone' : 'too');
    if (state === 'POSTGRES') return result;
    try {
      const joined = await this.#renewal.join(hold, ttlMs);
      if (joined.acquired) return result;
      this.#giveBack(hold);
      return joined;
    } catch (error) {
      this.#giveBack(hold);
      throw passing(error);
    }
  }

  #giveBack({ key, owner }: Hold): void {
    this.release(key, owner).catch(() => undefined); // it frees itself at its ttl
  }

  /** The state to act on: as last seen, where that still counts, or the store itself will tell if it has changed. */
  async #stateFor(key: string, ttlMs: number) {
    const { authority } = this.lease;
    const known = authority && (authority.state !== 'REDIS' ? ttlMs <= authority.ttlMs : this.lease.mayGrant(ttlMs));
    return known ? authority.state : this.lease.stateFor(key);
  }
}
