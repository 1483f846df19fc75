import { getEventListeners } from 'node:events';
import { LockManager } from '../../../lib/lock-manager.js';
import type { Lock } from '../../../lib/lock.js';
import type { LockOptions } from '../../../lib/lock.options.js';
import type { GrantLog } from '../grant-log.js';
import type { Prng } from '../prng.js';
import type { SimProcess } from '../sim-process.js';
import type { Timeline } from '../timeline.js';
import type { Calls } from './calls.js';
import type { LeaseBook } from './lease-book.js';
import type { Seen, Variant } from './variants.js';
import { WatchedStore } from './watched-store.js';
import type { Wire } from './wire.js';

export interface PodTerms {
  readonly keys: readonly string[];
  readonly ttls: readonly number[];
  readonly quarantineMs: number;
  readonly variant: Variant;
}

export interface Surroundings {
  readonly timeline: Timeline;
  readonly prng: Prng;
  readonly grants: GrantLog;
  readonly book: LeaseBook;
  readonly calls: Calls;
  broken(what: string): void;
  trace(what: string): void;
}

interface Wish {
  readonly keys: string | readonly string[];
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly options: LockOptions;
}

const NODE_TIMEOUT_MS = 40;
const JOBS = 2;
const LONGEST_REST_MS = 150;
const LONGEST_WAIT_MS = 800;
/** What the pauses between split votes add up to at most. */
const SPLIT_VOTES_MS = 504;
const MOST_ATTEMPTS = 7;

/** One process with the real manager, watchdog and store. Its jobs take locks in all ways there are, hold them for a while, and give them back or forget them. */
export class Pod {
  readonly #locks: LockManager;
  readonly #seen = new Set<Seen>();
  #closing = false;

  constructor(
    readonly process: SimProcess,
    readonly wires: readonly Wire[],
    private readonly terms: PodTerms,
    private readonly world: Surroundings,
  ) {
    const { variant, quarantineMs } = terms;
    const runtime = variant.runtime?.(process) ?? process;
    const nodes = variant.node ? wires.map(variant.node) : wires;
    const log = (): void => undefined;
    const store = new WatchedStore(nodes, { nodeTimeoutMs: NODE_TIMEOUT_MS, quarantineMs, log }, runtime);
    store.watcher = { renewed: (key) => this.#renewed(key), broken: (what) => world.broken(what) };
    this.#locks = new LockManager(store, {}, runtime);
    for (let jobs = 0; jobs < JOBS; jobs++) void this.#work();
  }

  /** No new work; at times the manager is shut down, at others it is left as it is once its work is done. */
  close(): void {
    this.#closing = true;
    if (this.world.prng.chance(0.5)) return;
    const timeoutMs = 2 * Math.max(...this.terms.ttls);
    void this.#within(timeoutMs, 'shutdown', this.#locks.shutdown(timeoutMs));
  }

  async #work(): Promise<void> {
    const { prng } = this.world;
    for (;;) {
      await this.#sleep(prng.between(1, LONGEST_REST_MS));
      if (this.#closing) return;
      const wish = this.#wish();
      if (prng.chance(0.3)) await this.#runLocked(wish);
      else {
        const lock = await this.#acquire(wish);
        if (lock) await this.#hold(lock, wish);
      }
    }
  }

  async #acquire(wish: Wish): Promise<Lock | undefined> {
    const { prng, timeline } = this.world;
    const startedAt = timeline.nowMs;
    const leaver = prng.chance(0.15) ? new AbortController() : undefined;
    if (leaver) this.process.timers.start(() => leaver.abort(), prng.between(1, LONGEST_WAIT_MS));
    const options = leaver ? { ...wish.options, signal: leaver.signal } : wish.options;
    const asked = prng.chance(0.5)
      ? this.#locks.acquire(wish.keys, options)
      : this.#locks.tryAcquire(wish.keys, options).then((lock) => lock ?? undefined);
    const lock = await this.#within(this.#limitMs(wish), `acquire ${String(wish.keys)}`, asked);
    if (leaver && getEventListeners(leaver.signal, 'abort').length > 0) {
      this.world.broken(`${this.process.name} still listens to the signal of a wait that is over`);
    }
    if (lock) this.#granted(lock, startedAt);
    return lock;
  }

  async #runLocked({ keys, options, ...wish }: Wish): Promise<void> {
    const { timeline, book, prng } = this.world;
    const startedAt = timeline.nowMs;
    const [entered, left] = [milestone(), milestone()];
    const ran = this.#locks.withLock(keys, options, async (lock) => {
      entered.reached();
      this.#granted(lock, startedAt);
      const seen = this.#see(lock, wish.ttlMs);
      const holding = book.enter(seen.lock, this.process, prng.chance(0.5));
      await this.#use(seen.lock, wish.ttlMs);
      book.end(holding);
      this.#seen.delete(seen);
      left.reached();
    });
    const settled = ran.catch(() => undefined); // busy, unavailable or lost
    await this.#within(this.#limitMs(wish), `withLock ${String(keys)}`, Promise.race([entered.promise, settled]));
    await Promise.race([left.promise, settled]);
    await this.#within(wish.ttlMs, `withLock ${String(keys)} after its work`, settled);
  }

  async #hold(lock: Lock, { ttlMs, options }: Wish): Promise<void> {
    const { prng, book } = this.world;
    const seen = this.#see(lock, ttlMs);
    const holding = book.enter(seen.lock, this.process, prng.chance(0.5));
    await this.#use(seen.lock, ttlMs);
    // Forgotten at times: only where it ends by itself.
    const ends = options.autoRenew === false || options.maxHold !== undefined;
    if (ends && prng.chance(0.3)) return;
    book.end(holding);
    this.#seen.delete(seen);
    const released = this.#within(ttlMs, 'release', seen.lock.release());
    if (prng.chance(0.1)) void this.#within(ttlMs, 'second release', seen.lock.release());
    await released;
  }

  async #use(lock: Lock, ttlMs: number): Promise<void> {
    const { prng } = this.world;
    const longest = prng.pick([0.05, 0.05, 1, 6]);
    const pieces = 3;
    // Some look at the lock all the time, others never: then only the signal tells them.
    const looks = prng.chance(0.5);
    for (let piece = 0; piece < pieces && (!looks || lock.held); piece++) {
      await this.#sleep((prng.fraction() * longest * ttlMs) / pieces);
      if (prng.chance(0.1)) await this.#within(ttlMs, 'renew', lock.renew());
    }
  }

  #granted(lock: Lock, startedAt: number): void {
    const { grants, timeline, trace } = this.world;
    trace(`${this.process.name} has ${lock.keys.join('+')} with ${lock.fencingToken}`);
    for (const key of lock.keys) {
      grants.granted({ key, token: lock.fencingToken, startedAt, grantedAt: timeline.nowMs });
    }
  }

  #see(lock: Lock, ttlMs: number): Seen {
    const { variant } = this.terms;
    const seen = variant.seen?.(lock, ttlMs, this.process) ?? { lock, renewed: () => undefined };
    this.#seen.add(seen);
    return seen;
  }

  #renewed(key: string): void {
    for (const seen of this.#seen) if (seen.lock.keys.includes(key)) seen.renewed();
    this.world.book.renewed(key, this.process);
  }

  #wish(): Wish {
    const { prng } = this.world;
    const ttlMs = prng.pick(this.terms.ttls);
    const waitMs = prng.chance(0.5) ? Math.ceil(prng.between(1, LONGEST_WAIT_MS)) : 0;
    const options: LockOptions = {
      ttl: `${ttlMs}ms`,
      autoRenew: prng.chance(0.8),
      wait: `${waitMs}ms`,
      minHold: prng.chance(0.1) ? `${Math.ceil(prng.between(1, ttlMs))}ms` : 0,
      ...(prng.chance(0.2) ? { maxHold: `${Math.ceil(prng.between(1, 3 * ttlMs))}ms` } : {}),
    };
    return { keys: this.#someKeys(), ttlMs, waitMs, options };
  }

  #someKeys(): string | string[] {
    const { keys } = this.terms;
    const [first, second] = [this.world.prng.pick(keys), this.world.prng.pick(keys)];
    return first !== second && this.world.prng.chance(0.3) ? [first, second] : first;
  }

  /** The wait, an attempt that was under way when it was over, and a last one; without a wait, one for each split vote. Each may have to be given back. */
  #limitMs({ ttlMs, waitMs }: Pick<Wish, 'ttlMs' | 'waitMs'>): number {
    return waitMs > 0 ? waitMs + 3 * ttlMs : (MOST_ATTEMPTS + 1) * ttlMs + SPLIT_VOTES_MS;
  }

  #within<T>(limitMs: number, what: string, asked: Promise<T>): Promise<Awaited<T> | undefined> {
    return this.world.calls.within(limitMs, what, this.process, asked);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.process.timers.start(resolve, ms));
  }
}

function milestone(): { readonly promise: Promise<void>; readonly reached: () => void } {
  let reached!: () => void;
  const promise = new Promise<void>((resolve) => (reached = resolve));
  return { promise, reached };
}
