import { Deadline, now, validity } from './deadline.js';
import { LockBusyError, LockUnavailableError, type NodeFailure } from './errors.js';
import { HeldLock, type LockEvents } from './held-lock.js';
import type { LockTerms } from './lock.options.js';
import { Patience } from './patience.js';
import type { Runtime } from './runtime.js';
import { StoreLink } from './store-link.js';
import { together } from './stores/joint-answer.js';
import type { AcquireResult, LockStore } from './stores/lock-store.js';
import { isRefusal, type Refusal, type Standing } from './waiters.js';
import type { Watchdog } from './watchdog.js';

type Keys = readonly [string, ...string[]];
type Refused = Omit<Extract<AcquireResult, { acquired: false }>, 'acquired'>;
type Answer = { readonly fencingToken: number } | Refusal;

/** Enough to see in a store which process holds a key; what makes an owner unique comes after it. */
const INSTANCE_LENGTH = 8;

/** Makes one attempt at a lock: asks the store, checks that time is left, and undoes what is no grant. */
export class Acquirer {
  readonly #instance: string;

  constructor(
    private readonly store: LockStore,
    private readonly runtime: Runtime,
    private readonly watchdog: Watchdog,
    private readonly events: LockEvents,
  ) {
    this.#instance = runtime.random.id().slice(0, INSTANCE_LENGTH);
  }

  async attempt(keys: Keys, terms: LockTerms, standing?: Standing): Promise<HeldLock | Refusal> {
    // A new owner for each attempt: what an earlier one may have left behind can never be taken for this one's.
    const owner = `${this.#instance}/${this.runtime.random.id()}`;
    const sentAt = now(this.runtime.clock);
    const deadline = new Deadline(this.runtime.clock, sentAt, validity(terms.ttlMs));
    const asked = keys.length === 1 ? this.#ask(keys[0], owner, terms, standing) : this.#askAll(keys, owner, terms);
    const patience = new Patience(this.watchdog, deadline.on(sentAt));
    try {
      const answer = await patience.for(asked);
      if (isRefusal(answer)) return answer;
      if (deadline.remaining > 0) {
        const grant = { keys, fencingToken: answer.fencingToken, sentAt };
        const link = new StoreLink(this.store, keys, owner, terms.ttlMs);
        return new HeldLock(grant, terms, link, this.events, this.runtime.clock, this.watchdog);
      }
      this.#undo(keys, owner);
      return unavailable(keys[0], 'it granted, but too late: the lease was over when the answer came');
    } catch {
      // `asked` never rejects, so it has not answered: what it still grants is undone when it does.
      void asked.then((answer) => isRefusal(answer) || this.#undo(keys, owner));
      return unavailable(keys[0], 'no answer within the ttl');
    } finally {
      patience.end();
    }
  }

  #ask(key: string, owner: string, { ttlMs }: LockTerms, standing?: Standing): Promise<Answer> {
    return this.store.acquire(key, owner, ttlMs, standing).then(
      (result) => {
        if (standing) standing.inLine = result.inLine === true;
        return result.acquired ? result : busy(key, result);
      },
      (error: unknown) => unavailable(key, error),
    );
  }

  /** All keys or none, in sorted order, so that two callers rarely split them. */
  async #askAll(keys: Keys, owner: string, terms: LockTerms): Promise<Answer> {
    const ask = (): Promise<Answer>[] => keys.map((key) => this.#ask(key, owner, terms));
    const answers = await Promise.all(this.store.together ? this.store.together(ask) : ask());
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
    try {
      if (await together(lower.map((key) => this.store.raise!(key, owner, fencingToken)))) return { fencingToken };
    } catch (error) {
      this.#undo(keys, owner);
      return unavailable(keys[0], error);
    }
    this.#undo(keys, owner);
    return busy(keys[0]);
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
