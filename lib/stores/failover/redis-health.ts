import type { Runtime } from '../../runtime.js';
import type { LockStore } from '../lock-store.js';
import type { FailoverTerms } from './failover.options.js';

const PROBE_TTL_MS = 5000;

/**
 * Whether Redis works, as this process sees it: it takes and gives back a lock of its own, since a store that answers may still be read-only, full, or in
 * quarantine.
 */
export class RedisHealth {
  /** Since when, on the monotonic clock, it has been as it is. */
  #since: number | undefined;
  #works: boolean | undefined;
  #probing: Promise<void> | undefined;
  /** What the last failure was. */
  trouble: string | undefined;

  constructor(
    private readonly redis: LockStore,
    private readonly terms: FailoverTerms,
    private readonly pod: string,
    private readonly runtime: Runtime,
  ) {}

  get state(): 'up' | 'down' | 'unsure' {
    if (this.#since === undefined) return 'unsure';
    const forMs = this.runtime.clock.monotonic() - this.#since;
    if (this.#works) return forMs >= this.terms.returnAfterMs ? 'up' : 'unsure';
    return forMs >= this.terms.failoverAfterMs ? 'down' : 'unsure';
  }

  probe(): Promise<void> {
    return (this.#probing ??= this.#probe().finally(() => (this.#probing = undefined)));
  }

  async #probe(): Promise<void> {
    const owner = `${this.pod}/${this.runtime.random.id()}`;
    const key = `nestjs-fenced-lock:probe:${this.pod}`;
    const askedAt = this.runtime.clock.monotonic();
    try {
      const { acquired } = await this.redis.acquire(key, owner, PROBE_TTL_MS);
      if (acquired) this.redis.release(key, owner).catch(() => undefined); // it frees itself at its ttl
      this.#found(true, askedAt);
      this.trouble = undefined;
    } catch (error) {
      this.#found(false, askedAt);
      this.trouble = (error as Error).message;
    }
  }

  #found(works: boolean, at: number): void {
    if (this.#works === works) return;
    this.#works = works;
    this.#since = at;
  }
}
