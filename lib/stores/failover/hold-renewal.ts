import type { Random } from '../../runtime.js';
import { together } from '../joint-answer.js';
import type { AcquireResult } from '../lock-store.js';
import type { AuthorityLease } from './authority-lease.js';
import type { FallbackStore } from './fallback-store.js';
import type { Hold } from './hold.js';
import type { PrimaryStore } from './primary-store.js';
import { undecided } from './undecided.js';

/** Renews what is held, where it is held, and moves it with the authority: to Postgres when Redis no longer decides, and back. */
export class HoldRenewal {
  constructor(
    private readonly redis: PrimaryStore,
    private readonly postgres: FallbackStore,
    private readonly lease: AuthorityLease,
    private readonly random: Random,
  ) {}

  renew(hold: Hold, ttlMs: number): Promise<boolean> {
    if (hold.postgres === 'alone') {
      const mayJoin = this.lease.authority?.state === 'BOTH';
      return mayJoin ? this.#renewAndJoin(hold, ttlMs) : this.postgres.renew(hold.key, hold.owner, ttlMs);
    }
    return hold.postgres === 'too' ? this.#renewOnBoth(hold, ttlMs) : this.#renewOnRedis(hold, ttlMs);
  }

  /** Takes on Redis, too, what Postgres has. */
  async join(hold: Hold, ttlMs: number): Promise<AcquireResult> {
    this.redis.proposeAbove(hold.token);
    const redisOwner = `${hold.owner}/${this.random.id()}`;
    const result = await this.redis.acquire(hold.key, redisOwner, ttlMs);
    if (!result.acquired) return result;
    hold.redisOwner = redisOwner;
    hold.redisFence = result.fencingToken;
    if (hold.released) this.redis.release(hold.key, redisOwner).catch(() => undefined); // it frees itself at its ttl
    return result;
  }

  /** Postgres has it from now on. */
  onPostgres(hold: Hold, as: 'too' | 'alone'): void {
    const { key, owner } = hold;
    if (hold.released) {
      this.postgres.release(key, owner).catch(() => undefined); // it is swept there at its ttl
      return;
    }
    const { postgres } = this;
    hold.onPostgres(as, postgres.onLoss && ((lost) => postgres.onLoss!(key, owner, lost)));
  }

  async #renewOnRedis(hold: Hold, ttlMs: number): Promise<boolean> {
    if (!this.lease.mayRenew && !this.lease.redisIsClosed) await this.lease.stateFor(hold.key);
    if (this.lease.mayRenew) return this.redis.renew(hold.key, hold.redisOwner!, ttlMs);
    if (this.lease.redisIsClosed) return this.#carry(hold, ttlMs);
    throw undecided(hold.key, 'Redis does not decide at present');
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
    if (ours === undefined) throw undecided(hold.key, 'the authority has changed meanwhile');
    if (!ours) return false;
    this.redis.release(hold.key, hold.redisOwner!).catch(() => undefined); // it frees itself there at its ttl
    hold.redisOwner = undefined;
    this.onPostgres(hold, 'alone');
    return true;
  }

  /** On the way back: what only Postgres has is taken on Redis, too. Where that fails it stays as it is. */
  async #renewAndJoin(hold: Hold, ttlMs: number): Promise<boolean> {
    const joined = await this.join(hold, ttlMs).catch(() => undefined);
    if (!joined?.acquired) return this.postgres.renew(hold.key, hold.owner, ttlMs);
    const ours = await this.postgres.renewAlone(hold.key, hold.owner, ttlMs, false);
    if (ours && !hold.released) hold.onPostgres('too', undefined);
    return ours === true;
  }
}
