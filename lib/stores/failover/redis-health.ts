import { LockUnavailableError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { LockStore } from '../lock-store.js';
import type { FailoverTerms } from './failover.options.js';

const LONGEST_PROBE_MS = 5000;

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
    /** The ttl that locks usually have: a longer one of the probe's would have Redis warn of a gap that is none. */
    private readonly ttlMs: number = LONGEST_PROBE_MS,
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
      const { acquired } = await this.redis.acquire(key, owner, Math.min(LONGEST_PROBE_MS, this.ttlMs));
      if (acquired) this.redis.release(key, owner).catch(() => undefined); // it frees itself at its ttl
      this.#found(true, askedAt);
      this.trouble = undefined;
    } catch (error) {
      this.#found(passes(error) ? undefined : false, askedAt);
      this.trouble = causesOf(error);
    }
  }

  #found(works: boolean | undefined, at: number): void {
    if (this.#works === works) return;
    this.#works = works;
    this.#since = works === undefined ? undefined : at;
  }
}

/** Nodes in quarantine are back within a ttl, which is sooner than a switch takes. */
function passes(error: unknown): boolean {
  return error instanceof LockUnavailableError && error.causes.every(({ untilMs }) => untilMs !== undefined);
}

/** Without the probe's key and advice, which mean nothing to a reader of the log. */
function causesOf(error: unknown): string {
  if (!(error instanceof LockUnavailableError)) return (error as Error).message;
  return error.causes.map(({ node, reason }) => `${node}: ${reason}`).join('; ');
}
