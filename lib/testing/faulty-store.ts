import type { AcquireResult, LockStore, Place } from '../stores/lock-store.js';

/** What can be made to fail. */
export type StoreVerb = 'acquire' | 'renew' | 'release' | 'raise' | 'inspect' | 'list' | 'forceRelease';

/**
 * What goes wrong with a call.
 * - `reject`: the store never sees it, and it rejects.
 * - `hang`: the store does not see it before `heal`; then it is carried out and answered.
 * - `late`: it is carried out at once, and answered only with `heal`.
 * - `lost`: it is carried out, and rejects as if its answer had been lost.
 */
export type StoreFault = 'reject' | 'hang' | 'late' | 'lost';

interface Disturbance {
  readonly fault: StoreFault;
  left: number;
  /** Resolves with `heal`. */
  readonly healed: Promise<void>;
  heal(): void;
}

/** Any store, with faults to order: how does the code under test behave when the store is slow, out of reach, or loses an answer? */
export class FaultyStore implements LockStore {
  /** How often each verb was called, disturbed calls included. */
  readonly calls: Record<StoreVerb, number> = {
    ...{ acquire: 0, renew: 0, release: 0 },
    ...{ raise: 0, inspect: 0, list: 0, forceRelease: 0 },
  };
  readonly raise?: NonNullable<LockStore['raise']>;
  readonly inspect?: NonNullable<LockStore['inspect']>;
  readonly list?: NonNullable<LockStore['list']>;
  readonly forceRelease?: NonNullable<LockStore['forceRelease']>;
  readonly onFree?: NonNullable<LockStore['onFree']>;
  readonly take?: NonNullable<LockStore['take']>;
  readonly leave?: NonNullable<LockStore['leave']>;
  readonly onLoss?: NonNullable<LockStore['onLoss']>;
  readonly check?: NonNullable<LockStore['check']>;
  readonly observe?: NonNullable<LockStore['observe']>;
  readonly close?: NonNullable<LockStore['close']>;
  readonly together?: NonNullable<LockStore['together']>;
  readonly #disturbances = new Map<StoreVerb, Disturbance[]>();

  constructor(private readonly inner: LockStore) {
    // It has what the inner store has, no more: a store without `raise` stays one.
    if (inner.raise) this.raise = (...args) => this.#call('raise', () => inner.raise!(...args));
    if (inner.inspect) this.inspect = (key) => this.#call('inspect', () => inner.inspect!(key));
    if (inner.list) this.list = (query) => this.#call('list', () => inner.list!(query));
    if (inner.forceRelease) this.forceRelease = (key) => this.#call('forceRelease', () => inner.forceRelease!(key));
    if (inner.onFree) this.onFree = (key, wake, owner) => inner.onFree!(key, wake, owner);
    if (inner.take) this.take = (key, owner) => inner.take!(key, owner);
    if (inner.leave) this.leave = (key, owner) => inner.leave!(key, owner);
    if (inner.onLoss) this.onLoss = (key, owner, lost) => inner.onLoss!(key, owner, lost);
    if (inner.check) this.check = () => inner.check!();
    if (inner.observe) this.observe = (observer) => inner.observe!(observer);
    if (inner.close) this.close = () => inner.close!();
    if (inner.together) this.together = (ask) => inner.together!(ask);
  }

  /** Disturbs the next `times` calls of the verb; by default all, until `heal`. Orders for one verb are served one after the other. */
  fail(verb: StoreVerb, fault: StoreFault, times = Number.POSITIVE_INFINITY): void {
    let heal!: () => void;
    const healed = new Promise<void>((resolve) => (heal = resolve));
    const queue = this.#disturbances.get(verb) ?? [];
    this.#disturbances.set(verb, [...queue, { fault, left: times, healed, heal }]);
  }

  /** Ends all faults of the verb, or of every verb, and lets calls and answers that were held back go on. */
  heal(...verbs: StoreVerb[]): void {
    for (const verb of verbs.length > 0 ? verbs : this.#disturbances.keys()) {
      this.#disturbances.get(verb)?.forEach((disturbance) => disturbance.heal());
      this.#disturbances.delete(verb);
    }
  }

  acquire(key: string, owner: string, ttlMs: number, place?: Place): Promise<AcquireResult> {
    return this.#call('acquire', () => this.inner.acquire(key, owner, ttlMs, place));
  }

  renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    return this.#call('renew', () => this.inner.renew(key, owner, ttlMs));
  }

  release(key: string, owner: string, keepForMs?: number): Promise<boolean> {
    return this.#call('release', () => this.inner.release(key, owner, keepForMs));
  }

  async #call<T>(verb: StoreVerb, carryOut: () => Promise<T>): Promise<T> {
    this.calls[verb]++;
    const disturbance = this.#disturbances.get(verb)?.find(({ left }) => left > 0);
    if (!disturbance) return carryOut();
    disturbance.left--;
    const { fault, healed } = disturbance;
    if (fault === 'reject') throw new Error(`injected fault: ${verb} did not reach the store`);
    if (fault === 'hang') await healed;
    const answer = await carryOut();
    if (fault === 'late') await healed;
    if (fault === 'lost') throw new Error(`injected fault: the answer of ${verb} was lost`);
    return answer;
  }
}
