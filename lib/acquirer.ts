import { endOf, now, validity, type Moment } from './deadline.js';
import { LockBusyError, LockUnavailableError, type NodeFailure } from './errors.js';
import { HeldLock, type LockEvents, type LockLink } from './held-lock.js';
import type { LockTerms } from './lock.options.js';
import { Owners } from './owner.js';
import { Patience } from './patience.js';
import type { Runtime } from './runtime.js';
import { together } from './stores/joint-answer.js';
import type { AcquireResult, LockStore } from './stores/lock-store.js';
import { isRefusal, type Quest, type Refusal, type Standing } from './quest.js';
import type { Watchdog } from './watchdog.js';

type Keys = readonly [string, ...string[]];
type Refused = Omit<Extract<AcquireResult, { acquired: false }>, 'acquired'>;
type Granted = { readonly fencingToken: number };

/** Makes one attempt at a lock: asks the store, checks that time is left, and undoes what is no grant. */
export class Acquirer {
  readonly #owners: Owners;

  constructor(
    private readonly store: LockStore,
    private readonly link: LockLink,
    private readonly runtime: Runtime,
    private readonly watchdog: Watchdog,
    private readonly events: LockEvents,
  ) {
    this.#owners = new Owners(runtime.random);
  }

  attempt(keys: Keys, terms: LockTerms, standing?: Standing): Promise<HeldLock | Refusal> {
    const sentAt = now(this.runtime.clock);
    // A new owner for each attempt: what an earlier one may have left behind can never be taken for this one's.
    const owner = this.#owners.next(sentAt);
    if (standing) standing.owner = owner;
    const asked =
      keys.length === 1 ? this.#ask(keys[0], owner, terms, standing) : this.#askAll(keys, owner, terms, standing);
    // Whatever can wait until the request is on its way does.
    return new Promise((resolve) => {
      let waiting = true;
      const giveUp = (): void => {
        waiting = false;
        resolve(unavailable(keys[0], 'no answer within the ttl'));
      };
      const patience = new Patience(this.watchdog, sentAt.monotonic + validity(terms.ttlMs), giveUp, sentAt);
      const answered = (answer: Granted | Refusal): void => {
        // What is still granted when nobody waits for it is undone.
        if (waiting) resolve(isRefusal(answer) ? answer : this.#conclude(keys, owner, terms, sentAt, answer));
        else if (!isRefusal(answer)) this.#undo(keys, owner);
        patience.end();
      };
      asked.then(answered, (error: unknown) => answered(unavailable(keys[0], error)));
    });
  }

  /** For someone who waits. */
  quest(keys: Keys, terms: LockTerms): Quest<HeldLock> {
    return new LockQuest(this, keys, terms);
  }

  /** What an attempt that stood in line has got since it was refused. Nobody has to be asked. */
  take(keys: Keys, owner: string, terms: LockTerms): HeldLock | undefined {
    const turn = this.store.take?.(keys[0], owner);
    if (!turn) return undefined;
    const { fencingToken, sentAt } = turn;
    const grant = { keys, owner, fencingToken, sentAt, leaseMs: Math.min(turn.leaseMs, terms.ttlMs) };
    const { link, events, watchdog, runtime } = this;
    return new HeldLock(grant, terms, link, events, runtime.clock, watchdog, now(runtime.clock));
  }

  #conclude(
    keys: Keys,
    owner: string,
    terms: LockTerms,
    sentAt: Moment,
    { fencingToken }: Granted,
  ): HeldLock | Refusal {
    const at = now(this.runtime.clock);
    if (endOf(sentAt, validity(terms.ttlMs), at) <= at.monotonic) {
      this.#undo(keys, owner);
      return unavailable(keys[0], 'it granted, but too late: the lease was over when the answer came');
    }
    const { link, events, watchdog, runtime } = this;
    return new HeldLock({ keys, owner, fencingToken, sentAt }, terms, link, events, runtime.clock, watchdog, at);
  }

  #ask(key: string, owner: string, { ttlMs }: LockTerms, standing?: Standing): Promise<Granted | Refusal> {
    const asked = this.store.acquire(key, owner, ttlMs, standing);
    return asked.then((result) => (result.acquired ? result : busy(key, result)));
  }

  /** All keys or none, in sorted order, so that two callers rarely split them. */
  async #askAll(keys: Keys, owner: string, terms: LockTerms, standing?: Standing): Promise<Granted | Refusal> {
    const askFor = (key: string): Promise<Granted | Refusal> =>
      this.#ask(key, owner, terms, standing).catch((error: unknown) => unavailable(key, error));
    const ask = (): Promise<Granted | Refusal>[] => keys.map(askFor);
    const answers = await Promise.all(this.store.together ? this.store.together(ask) : ask());
    const refusal = answers.find(isRefusal);
    if (refusal) {
      this.#undo(
        keys.filter((_, index) => !isRefusal(answers[index]!)),
        owner,
      );
      return refusal;
    }
    const tokens = answers.map((answer) => (answer as Granted).fencingToken);
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

class LockQuest implements Quest<HeldLock> {
  constructor(
    private readonly acquirer: Acquirer,
    private readonly keys: Keys,
    private readonly terms: LockTerms,
  ) {}

  attempt(standing: Standing): Promise<HeldLock | Refusal> {
    return this.acquirer.attempt(this.keys, this.terms, standing);
  }

  take(owner: string): HeldLock | undefined {
    return this.acquirer.take(this.keys, owner, this.terms);
  }

  discard(late: HeldLock): void {
    void late.release();
  }
}

function busy(key: string, { retryAfterMs, undecided, inLine = false }: Refused = {}): Refusal {
  const error = (waitedMs: number): LockBusyError => new LockBusyError(key, retryAfterMs, waitedMs);
  return { busyKey: key, retryAfterMs, kind: undecided ? 'undecided' : 'busy', inLine, error };
}

function unavailable(key: string, cause: unknown): Refusal {
  const error = cause instanceof LockUnavailableError ? cause : new LockUnavailableError(key, [failure(cause)]);
  const { causes } = error;
  const kind = causes.length > 0 && causes.every(({ lasting }) => lasting) ? 'hopeless' : 'unavailable';
  return { busyKey: key, retryAfterMs: undefined, kind, error: () => error };
}

function failure(cause: unknown): NodeFailure {
  return { node: 'store', reason: cause instanceof Error ? cause.message : String(cause) };
}
