import { Deadline, now, validity } from './deadline.js';
import { LockBusyError, LockUnavailableError, type LockLostError, type NodeFailure } from './errors.js';
import { HeldLock, type LockLink } from './held-lock.js';
import type { LockTerms } from './lock.options.js';
import type { Runtime } from './runtime.js';
import type { AcquireResult, LockStore } from './stores/lock-store.js';
import { isRefusal, type Refusal } from './waiters.js';
import type { Watchdog } from './watchdog.js';

type Keys = readonly [string, ...string[]];
type Refused = Omit<Extract<AcquireResult, { acquired: false }>, 'acquired'>;
type Answer = { readonly fencingToken: number } | Refusal;

/** What the manager wants to know of the locks made here. */
export interface LockEvents {
  started(lock: HeldLock): void;
  ended(lock: HeldLock, loss: LockLostError | undefined): void;
  failed(lock: HeldLock, verb: 'renew' | 'release', error: unknown): void;
}

/** Makes one attempt at a lock: asks the store, checks that time is left, and undoes what is no grant. */
export class Acquirer {
  readonly #instance: string;

  constructor(
    private readonly store: LockStore,
    private readonly runtime: Runtime,
    private readonly watchdog: Watchdog,
    private readonly events: LockEvents,
  ) {
    this.#instance = runtime.random.id();
  }

  async attempt(keys: Keys, terms: LockTerms): Promise<HeldLock | Refusal> {
    // A new owner for each attempt: what an earlier one may have left behind can never be taken for this one's.
    const owner = `${this.#instance}/${this.runtime.random.id()}`;
    const sentAt = now(this.runtime.clock);
    const deadline = new Deadline(this.runtime.clock, sentAt, validity(terms.ttlMs));
    const asked = keys.length === 1 ? this.#ask(keys[0], owner, terms) : this.#askAll(keys, owner, terms);
    const answer = await this.#before(deadline, asked, keys, owner);
    if (isRefusal(answer)) return answer;
    if (deadline.remaining <= 0) {
      this.#undo(keys, owner);
      return unavailable(keys[0], 'it granted, but too late: the lease was over when the answer came');
    }
    const lock: HeldLock = new HeldLock(
      { keys, fencingToken: answer.fencingToken, sentAt },
      terms,
      this.#link(keys, owner, terms, () => lock),
      this.runtime.clock,
      this.watchdog,
    );
    this.events.started(lock);
    return lock;
  }

  #ask(key: string, owner: string, { ttlMs }: LockTerms): Promise<Answer> {
    return this.store.acquire(key, owner, ttlMs).then(
      (result) => (result.acquired ? result : busy(key, result)),
      (error: unknown) => unavailable(key, error),
    );
  }

  /** All keys or none. They go out together: a node decides them in one script, in sorted order, so two callers rarely split them. */
  async #askAll(keys: Keys, owner: string, terms: LockTerms): Promise<Answer> {
    const answers = await Promise.all(keys.map((key) => this.#ask(key, owner, terms)));
    const refusal = answers.find(isRefusal);
    if (refusal) {
      this.#undo(
        keys.filter((_, index) => !isRefusal(answers[index]!)),
        owner,
      );
      return refusal;
    }
    const tokens = answers.map((answer) => (answer as { fencingToken: number }).fencingToken);
    const fencingToken = Math.max(...tokens);
    // One token for all: each key's fence is lifted to it, so that each key's next token is above it.
    const lower = keys.filter((_, index) => tokens[index] !== fencingToken);
    const raised = await settled(lower.map((key) => this.store.raise!(key, owner, fencingToken)));
    if (raised === true) return { fencingToken };
    this.#undo(keys, owner);
    return raised === false ? busy(keys[0]) : unavailable(keys[0], raised.error);
  }

  /** The answer, unless the lease would be over before it comes: a store that hangs must not hang its caller. */
  #before(deadline: Deadline, asked: Promise<Answer>, keys: Keys, owner: string): Promise<Answer> {
    return this.watchdog.before(deadline.monotonic, asked).catch(() => {
      void asked.then((answer) => isRefusal(answer) || this.#undo(keys, owner));
      return unavailable(keys[0], 'no answer within the ttl');
    });
  }

  #link(keys: Keys, owner: string, { ttlMs }: LockTerms, lock: () => HeldLock): LockLink {
    const { store, events } = this;
    const [key] = keys;
    const single = keys.length === 1;
    return {
      renew: () =>
        single ? store.renew(key, owner, ttlMs) : together(keys.map((each) => store.renew(each, owner, ttlMs))),
      release: (keepForMs) => {
        const keep = keepForMs > 0 ? Math.ceil(keepForMs) : undefined;
        return single
          ? store.release(key, owner, keep)
          : together(keys.map((each) => store.release(each, owner, keep)));
      },
      ended: (loss) => events.ended(lock(), loss),
      failed: (verb, error) => events.failed(lock(), verb, error),
    };
  }

  #undo(keys: readonly string[], owner: string): void {
    for (const key of keys) {
      this.store.release(key, owner).catch(() => undefined); // out of reach: the key frees itself at its ttl
    }
  }
}

function busy(key: string, { retryAfterMs, undecided }: Refused = {}): Refusal {
  const error = (waitedMs: number): LockBusyError => new LockBusyError(key, retryAfterMs, waitedMs);
  return { busyKey: key, retryAfterMs, kind: undecided ? 'undecided' : 'busy', error };
}

function unavailable(key: string, cause: unknown): Refusal {
  const error = cause instanceof LockUnavailableError ? cause : new LockUnavailableError(key, [failure(cause)]);
  return { busyKey: key, retryAfterMs: undefined, kind: 'unavailable', error: () => error };
}

function failure(cause: unknown): NodeFailure {
  return { node: 'store', reason: cause instanceof Error ? cause.message : String(cause) };
}

/** One answer for several: a clear no counts first, then an unclear answer. */
async function settled(answers: readonly Promise<boolean>[]): Promise<boolean | { readonly error: unknown }> {
  const results = await Promise.allSettled(answers);
  if (results.some((result) => result.status === 'fulfilled' && !result.value)) return false;
  const failed = results.find((result) => result.status === 'rejected');
  return failed ? { error: failed.reason } : true;
}

async function together(answers: readonly Promise<boolean>[]): Promise<boolean> {
  const answer = await settled(answers);
  if (typeof answer === 'object') throw answer.error;
  return answer;
}
