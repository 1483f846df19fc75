import { LockOptionsError } from './errors.js';
import { toInfo, toKeyQuery, type LockInfo, type LockPage, type LockQuery } from './lock-info.js';
import { toKeys } from './lock-key.js';
import type { LockStore } from './stores/lock-store.js';

/** What a manager shows of all locks of its store, and what an operator may do to them. */
export abstract class LockViews {
  protected constructor(protected readonly store: LockStore) {}

  /** Whether anyone holds the key at this moment. By the time you read the answer it may be wrong: never decide by it to write. */
  async isLocked(key: string): Promise<boolean> {
    return (await this.inspect(key)).locked;
  }

  /** What the store knows about the key at this moment, and who holds it. @throws LockUnavailableError when it cannot tell. */
  async inspect(key: string): Promise<LockInfo> {
    if (!this.store.inspect) throw this.#cannot('inspect');
    return toInfo(await this.store.inspect(toKeys(key)[0]));
  }

  /**
   * The keys that anyone holds, page by page. It is for people and dashboards, and goes over all that the store remembers: not for hot paths. What is taken or comes free
   * meanwhile may be in it or not, and a key may come twice.
   * @throws LockOptionsError for bad input; LockUnavailableError when the store cannot tell.
   */
  async list(query: LockQuery = {}): Promise<LockPage> {
    if (!this.store.list) throw this.#cannot('list');
    const { keys, cursor } = await this.store.list(toKeyQuery(query));
    return { locks: keys.map(toInfo), ...(cursor === undefined ? {} : { cursor }) };
  }

  /**
   * Takes the key from whoever holds it; whoever waits gets it, with a higher token. The old holder is told by its next renewal (`LockLostError` with the reason 'taken'), or, if it
   * does not renew, not before its ttl is over; until it has stopped, both are at work: only guarded writes keep them apart. Returns whether there was something to release.
   * @throws LockUnavailableError when someone may still hold it.
   */
  async forceRelease(key: string): Promise<boolean> {
    if (!this.store.forceRelease) throw this.#cannot('forceRelease');
    return this.store.forceRelease(toKeys(key)[0]);
  }

  #cannot(verb: 'inspect' | 'list' | 'forceRelease'): LockOptionsError {
    return new LockOptionsError('store', this.store, `it has no \`${verb}\`; use a store that has.`);
  }
}
