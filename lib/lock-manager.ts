import { Acquirer } from './acquirer.js';
import { LockBusyError, LockLostError, LockOptionsError, LockReentryError, LockShutdownError } from './errors.js';
import type { CallProgress, CallTracer } from './call-tracer.js';
import { EventHub } from './event-hub.js';
import type { HeldLock } from './held-lock.js';
import { currentLock, findLock, runWithLock } from './lock-context.js';
import { toHealth, type LockHealth } from './lock-health.js';
import type { LockEventListener, LockEventName } from './lock-events.js';
import { toKeys } from './lock-key.js';
import { LockReporter } from './lock-reporter.js';
import { LockViews } from './lock-views.js';
import type { Lock } from './lock.js';
import { toTerms, type LockDefaults, type LockOptions, type LockTerms, type WithLockOptions } from './lock.options.js';
import { systemRuntime, type Runtime } from './runtime.js';
import { SharedLock } from './shared-lock.js';
import { Shutdown } from './shutdown.js';
import { StoreLink } from './store-link.js';
import type { LockStore } from './stores/lock-store.js';
import { isRefusal, type Refusal } from './quest.js';
import { Waiters } from './waiters.js';
import { Watchdog } from './watchdog.js';

/** Where the manager says what no caller is there to hear: locks lost, renewals and releases without an answer. */
export interface LockLog {
  /** Something that somebody should act on. */
  warn(message: string): void;
}

/** Of a manager that is made without Nest. */
export interface LockManagerOptions {
  /** What each lock starts from. */
  readonly defaults?: LockDefaults;
  /** Default: nowhere. */
  readonly log?: LockLog;
  /** What it is called in events. Default: `default`. */
  readonly name?: string;
  /** Follows guarded calls. */
  readonly tracer?: CallTracer;
}

/** How often an attempt is repeated that nobody won. The pauses are random and double, about 0.25 s in all on average. */
const MOST_SPLIT_VOTES = 6;
const FIRST_SPLIT_VOTE_MS = 8;

type Keys = string | readonly string[];
type SortedKeys = readonly [string, ...string[]];
type Work<T> = (lock: Lock) => Promise<T> | T;

/** Takes locks, hands them out and looks after them. One per store; inject it, or make one by hand outside of Nest. */
export class LockManager extends LockViews {
  /** That of `forRoot({ name })`, or `default`. */
  readonly name: string;
  readonly #events: EventHub;
  readonly #reporter: LockReporter;
  readonly #defaults: LockTerms;
  readonly #waiters: Waiters;
  readonly #acquirer: Acquirer;
  readonly #shutdown: Shutdown;
  readonly #log: LockLog | undefined;
  readonly #tracer: CallTracer | undefined;

  /** @throws LockOptionsError for defaults that are no valid lock options. */
  constructor(
    store: LockStore,
    options: LockManagerOptions = {},
    private readonly runtime: Runtime = systemRuntime,
  ) {
    super(store);
    this.#defaults = toTerms(options.defaults);
    this.#log = options.log;
    this.#tracer = options.tracer;
    this.name = options.name ?? 'default';
    this.#events = new EventHub((message) => this.#log?.warn(message));
    this.#reporter = new LockReporter(this.#events, this.name, runtime.clock);
    this.#waiters = new Waiters(runtime, store);
    this.#shutdown = new Shutdown(runtime.timers, store, this.#waiters);
    const link = new StoreLink(store);
    const watchdog = new Watchdog(runtime, (ask) => link.together(ask));
    this.#acquirer = new Acquirer(store, link, runtime, watchdog, {
      started: (lock) => this.#shutdown.held.add(lock),
      renewed: (lock) => this.#reporter.renewed(lock),
      ended: (lock, loss) => this.#ended(lock, loss),
      failed: (lock, verb, error) => this.#log?.warn(`Lock ${lock.key}: ${verb} had no clear answer: ${String(error)}`),
    });
    store.observe?.(this.#reporter);
  }

  /** The innermost lock that the running code holds: inside `withLock` or a `@WithLock` method. */
  static current(): Lock | undefined {
    return currentLock();
  }

  /**
   * Takes one key, or several together (all or none, with one token for all of them).
   * @throws LockBusyError when someone else holds a key, after `wait`; LockUnavailableError when the store cannot decide; LockReentryError when this async
   * context already holds a key; LockShutdownError; LockOptionsError; the signal's reason.
   */
  acquire(keys: Keys, options?: LockOptions): Promise<Lock> {
    return this.#acquire(keys, options);
  }

  /** Like `acquire`, but null when someone else holds a key. Everything else still throws: an outage is not "busy". */
  async tryAcquire(keys: Keys, options?: LockOptions): Promise<Lock | null> {
    try {
      return await this.acquire(keys, options);
    } catch (error) {
      if (error instanceof LockBusyError) return null;
      throw error;
    }
  }

  /**
   * Runs `work` under the lock and returns what it returns. The lock is released whatever happens.
   * @throws what `work` throws, always before any error of the lock; LockLostError, with the result, when the lock was lost under work that returned normally
   * (unless `onLost: 'ignore'`); and what `acquire` throws.
   */
  withLock<T>(keys: Keys, work: Work<T>): Promise<T>;
  withLock<T>(keys: Keys, options: WithLockOptions, work: Work<T>): Promise<T>;
  withLock<T>(keys: Keys, first: WithLockOptions | Work<T>, second?: Work<T>): Promise<T> {
    try {
      const [options, work] = typeof first === 'function' ? [undefined, first] : [first, second];
      if (typeof work !== 'function') {
        throw new LockOptionsError('work', work, 'give the function to run under the lock.');
      }
      const terms = toTerms(options, this.#defaults);
      if (!this.#tracer) return this.#guarded(keys, terms, work);
      const call = { manager: this.name, keys: toKeys(keys), label: terms.label };
      return this.#tracer.trace(call, (progress) => this.#guarded(keys, terms, work, progress));
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  /**
   * Calls `listener` with each such event from now on; returns what ends that. What it throws is logged. `node:diagnostics_channel` has the same events of all managers of
   * the process, on `nestjs-fenced-lock:<name>`.
   * @throws LockOptionsError for a name that is no event.
   */
  on<N extends LockEventName>(name: N, listener: LockEventListener<N>): () => void {
    return this.#events.on(name, listener);
  }

  /** How the store and the locks of this process are, at this moment. Never rejects. */
  async health(): Promise<LockHealth> {
    const late = [...this.#shutdown.held].filter((lock) => lock.isLate).length;
    return toHealth(this.store.check ? await this.store.check() : undefined, this.#shutdown.held.size, late);
  }

  /**
   * Stops granting, lets held work finish while renewing, then aborts what is left, releases everything and closes the store's own
   * connections. Resolves within `timeoutMs` (default 10 s) even when no store answers.
   */
  shutdown(timeoutMs?: number): Promise<void> {
    return this.#shutdown.begin(timeoutMs);
  }

  async #guarded<T>(keys: Keys, terms: LockTerms, work: Work<T>, progress?: CallProgress): Promise<T> {
    const lock = await this.#acquire(keys, undefined, terms);
    progress?.granted(lock);
    let result: T;
    try {
      result = await runWithLock(lock, () => work(lock));
    } catch (error) {
      await lock.release();
      throw error;
    }
    await lock.release();
    if (lock.loss && terms.onLost === 'throw') {
      throw new LockLostError(lock.loss.key, lock.fencingToken, lock.loss.reason, result);
    }
    return result;
  }

  async #acquire(keys: Keys, options?: LockOptions, terms = toTerms(options, this.#defaults)): Promise<Lock> {
    const sorted = toKeys(keys);
    const shared = this.#admitted(sorted, terms);
    if (shared) return shared;
    this.#shutdown.pending++;
    const startedAt = this.runtime.clock.monotonic();
    try {
      let lock = await (terms.waitMs > 0 ? this.#queue(sorted, terms) : this.#acquirer.attempt(sorted, terms));
      if (isRefusal(lock)) lock = await this.#repeat(sorted, terms, lock);
      if (!this.#shutdown.begun && !terms.signal?.aborted) {
        this.#reporter.granted(lock, this.runtime.clock.monotonic() - startedAt);
        return lock;
      }
      await lock.release();
      terms.signal?.throwIfAborted();
      throw new LockShutdownError(lock.key);
    } catch (error) {
      this.#reporter.refused({ keys: sorted, label: terms.label }, error, this.runtime.clock.monotonic() - startedAt);
      throw error;
    } finally {
      this.#shutdown.pending--;
      this.#shutdown.check();
    }
  }

  /** Refuses what cannot be asked for. Returns the lock that this async context holds already, if it is to be shared. */
  #admitted(keys: SortedKeys, terms: LockTerms): Lock | undefined {
    terms.signal?.throwIfAborted();
    const shared = this.#reentered(keys, terms.reentrant);
    if (shared) return shared;
    if (keys.length > 1 && !this.store.raise) {
      throw new LockOptionsError('store', this.store, 'it has no `raise`, so it cannot lock several keys together.');
    }
    if (this.#shutdown.begun) throw new LockShutdownError(keys[0]);
    return undefined;
  }

  #queue(keys: SortedKeys, terms: LockTerms): Promise<HeldLock> {
    const onWait = this.#reporter.onWait({ keys, label: terms.label });
    return this.#waiters.queue(keys, terms, this.#acquirer.quest(keys, terms), onWait);
  }

  async #repeat(keys: SortedKeys, terms: LockTerms, first: Refusal): Promise<HeldLock> {
    let outcome: HeldLock | Refusal = first;
    for (let round = 0; isRefusal(outcome); round++) {
      // Were all contenders of one tick to take a split vote for "busy", none of them would run the job.
      if (outcome.kind !== 'undecided' || round === MOST_SPLIT_VOTES) throw outcome.error(0);
      const { timers, random } = this.runtime;
      const pauseMs = random.fraction() * FIRST_SPLIT_VOTE_MS * 2 ** round;
      await new Promise<void>((resolve) => timers.start(resolve, pauseMs, true));
      outcome = await this.#acquirer.attempt(keys, terms);
    }
    return outcome;
  }

  /** The lock this async context holds already, if it may be shared; nothing if it holds none of the keys. */
  #reentered(keys: readonly string[], reentrant: boolean): Lock | undefined {
    const outer = findLock(
      (lock) => lock.held && this.#shutdown.held.has(lock as HeldLock) && lock.keys.some((key) => keys.includes(key)),
    );
    if (!outer) return undefined;
    if (reentrant && keys.every((key) => outer.keys.includes(key))) return new SharedLock(outer);
    throw new LockReentryError(keys.find((key) => outer.keys.includes(key))!);
  }

  #ended(lock: HeldLock, loss: LockLostError | undefined): void {
    this.#shutdown.held.delete(lock);
    this.#shutdown.check();
    for (const key of lock.keys) this.#waiters.wake(key);
    this.#reporter.ended(lock, loss);
    if (loss) this.#log?.warn(loss.message);
  }
}
