import { describe, expect, it } from '@jest/globals';
import type { AcquireResult, KeyPage, KeyQuery, LockState } from '../../lib/stores/lock-store.js';
import { MemoryStore } from '../../lib/stores/memory.store.js';
import { defineStoreContract, ManualRuntime } from '../../lib/testing/index.js';

const LONG_MS = 1e9;

/** A store that remembers who was granted what, for mutants to do wrong with. */
class Recording extends MemoryStore {
  readonly owners = new Map<string, string>();

  override async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
    const result = await super.acquire(key, owner, ttlMs);
    if (result.acquired) this.owners.set(key, owner);
    return result;
  }
}

class Folding extends MemoryStore {
  fold(key: string): string {
    return key;
  }
  override acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
    return super.acquire(this.fold(key), owner, ttlMs);
  }
  override renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    return super.renew(this.fold(key), owner, ttlMs);
  }
  override release(key: string, owner: string, keepForMs?: number): Promise<boolean> {
    return super.release(this.fold(key), owner, keepForMs);
  }
}

type StoreClass = new (runtime: ManualRuntime) => MemoryStore;

function folding(fold: (key: string) => string): StoreClass {
  return class extends Folding {
    override fold = fold;
  };
}

/** Each does one thing wrong, and must fail at least the case that is named. */
const MUTANTS: [description: string, failing: string, StoreClass][] = [
  [
    'releases without a look at the owner',
    'lets nobody but its owner release a key',
    class extends Recording {
      override release(key: string, owner: string, keepForMs?: number): Promise<boolean> {
        return super.release(key, this.owners.get(key) ?? owner, keepForMs);
      }
    },
  ],
  [
    'renews without a look at the owner',
    "lets an expired owner neither renew nor release the next owner's lock, which the next owner can",
    class extends Recording {
      override renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
        return super.renew(key, this.owners.get(key) ?? owner, ttlMs);
      }
    },
  ],
  [
    're-creates a lock by renewing it',
    'never re-creates a lock that expired',
    class extends MemoryStore {
      override async renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
        return (await super.renew(key, owner, ttlMs)) || (await super.acquire(key, owner, ttlMs)).acquired;
      }
    },
  ],
  [
    'says it renewed, and did not',
    'keeps a key taken for as long as its renewal says',
    class extends Recording {
      override async renew(key: string, owner: string): Promise<boolean> {
        return this.owners.get(key) === owner;
      }
    },
  ],
  [
    'says it released, and did not',
    'frees a key when its owner releases it, and says so once',
    class extends MemoryStore {
      override release(key: string, owner: string): Promise<boolean> {
        return super.renew(key, owner, LONG_MS);
      }
    },
  ],
  [
    'never lets a lock expire',
    'frees a key by itself once its ttl is over',
    class extends MemoryStore {
      override acquire(key: string, owner: string): Promise<AcquireResult> {
        return super.acquire(key, owner, LONG_MS);
      }
    },
  ],
  [
    'looks first and takes later',
    'gives a key to exactly one of a hundred who ask at once',
    class extends Recording {
      override async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
        if ((await super.inspect(key)).locked) return { acquired: false };
        void super.release(key, this.owners.get(key) ?? '');
        this.owners.set(key, owner);
        return super.acquire(key, owner, ttlMs);
      }
    },
  ],
  [
    'lets an owner in a second time',
    'refuses a key to the very owner that holds it, which goes on holding it',
    class extends Recording {
      override async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
        if (this.owners.get(key) === owner) await super.release(key, owner);
        return super.acquire(key, owner, ttlMs);
      }
    },
  ],
  [
    'starts tokens anew after a release',
    'gives tokens that are whole, positive, exact, and higher with each grant',
    class extends MemoryStore {
      override async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
        const result = await super.acquire(key, owner, ttlMs);
        return result.acquired ? { acquired: true, fencingToken: 1 } : result;
      }
    },
  ],
  [
    'starts tokens anew after an expiry',
    'gives a higher token after an expiry',
    class extends MemoryStore {
      readonly tokens = new Map<string, number>();
      readonly released = new Set<string>();
      override async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
        const result = await super.acquire(key, owner, ttlMs);
        if (!result.acquired) return result;
        const fencingToken = this.released.delete(key) ? this.tokens.get(key)! + 1 : 1;
        this.tokens.set(key, fencingToken);
        return { acquired: true, fencingToken };
      }
      override release(key: string, owner: string, keepForMs?: number): Promise<boolean> {
        this.released.add(key);
        return super.release(key, owner, keepForMs);
      }
    },
  ],
  [
    'gives tokens above what a number can hold exactly',
    'gives tokens that are whole, positive, exact, and higher with each grant',
    class extends MemoryStore {
      override async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
        const result = await super.acquire(key, owner, ttlMs);
        return result.acquired ? { acquired: true, fencingToken: result.fencingToken * 1000 } : result;
      }
    },
  ],
  [
    'does not keep a released key',
    'keeps a released key taken for keepForMs, where nobody can renew or release it',
    class extends MemoryStore {
      override release(key: string, owner: string): Promise<boolean> {
        return super.release(key, owner);
      }
    },
  ],
  [
    'keeps a released key, but as its owner’s',
    'keeps a released key taken for keepForMs, where nobody can renew or release it',
    class extends MemoryStore {
      override release(key: string, owner: string, keepForMs = 0): Promise<boolean> {
        return keepForMs > 0 ? super.renew(key, owner, keepForMs) : super.release(key, owner);
      }
    },
  ],
  [
    'keeps a released key for ever',
    'frees a released key once keepForMs is over',
    class extends MemoryStore {
      override release(key: string, owner: string, keepForMs = 0): Promise<boolean> {
        return super.release(key, owner, keepForMs > 0 ? LONG_MS : 0);
      }
    },
  ],
  [
    'promises a wrong end of the lease',
    'says in a refusal, where it knows, how long the holder can keep the key at most',
    class extends MemoryStore {
      override async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
        const result = await super.acquire(key, owner, ttlMs);
        return result.acquired ? result : { acquired: false, retryAfterMs: -2 };
      }
    },
  ],
  ...(
    [
      ['folds the case of keys', (key) => key.toLowerCase()],
      ['composes characters', (key) => key.normalize('NFC')],
      ['replaces compatible characters', (key) => key.normalize('NFKC')],
      ['trims keys', (key) => key.trim()],
      ['ends keys at a NUL', (key) => key.split('\0')[0]!],
      ['ends keys at a line break', (key) => key.split(/\r?\n/)[0]!],
      ['cuts long keys', (key) => key.slice(0, 255)],
      ['decodes percent signs', (key) => key.replaceAll('%7B', '{').replaceAll('%7D', '}')],
      ['takes the braces of a key as a hash tag', (key) => /\{(.+?)\}/.exec(key)?.[1] ?? key],
      ['adds suffixes that are keys too', (key) => key.replace(/:fence$/, '')],
      ['keeps keys in a narrow encoding', (key) => Buffer.from(key, 'latin1').toString('latin1')],
    ] satisfies [string, (key: string) => string][]
  ).map(([description, fold]): [string, string, StoreClass] => [
    description,
    'keeps every key exactly, and apart from all others',
    folding(fold),
  ]),
  [
    'raises nothing',
    'raise, where it exists, puts the next token above the one given',
    class extends MemoryStore {
      override async raise(key: string, owner: string, fencingToken: number): Promise<boolean> {
        const { fencingToken: fence = 0, ...state } = await super.inspect(key);
        return state.owner === owner && fence <= fencingToken;
      }
    },
  ],
  [
    'says that it lowered a fence',
    'raise, where it exists, refuses to lower a fence',
    class extends MemoryStore {
      override async raise(key: string, owner: string, fencingToken: number): Promise<boolean> {
        return (await super.raise(key, owner, fencingToken)) || (await super.inspect(key)).owner === owner;
      }
    },
  ],
  [
    'raises for anyone',
    'raise, where it exists, refuses whoever does not hold the key',
    class extends Recording {
      override raise(key: string, _owner: string, fencingToken: number): Promise<boolean> {
        return super.raise(key, this.owners.get(key)!, fencingToken);
      }
    },
  ],
  [
    'sees every key as free',
    'inspect, where it exists, tells who holds a key and for how long, and touches nothing',
    class extends MemoryStore {
      override async inspect(): Promise<LockState> {
        return { locked: false };
      }
    },
  ],
  [
    'sees an expired key as taken',
    'inspect, where it exists, sees a key as free once it was released or its ttl is over',
    class extends Recording {
      override async inspect(key: string): Promise<LockState> {
        return this.owners.has(key) ? { locked: true } : { locked: false };
      }
    },
  ],
  [
    'wakes nobody',
    'onFree, where it exists, wakes who subscribed when the key comes free',
    class extends MemoryStore {
      override onFree(): () => void {
        return () => undefined;
      }
    },
  ],
  [
    'wakes those who are gone',
    'onFree, where it exists, leaves alone who has unsubscribed, and nobody else',
    class extends MemoryStore {
      override onFree(key: string, wake: () => void): () => void {
        super.onFree(key, wake);
        return () => undefined;
      }
    },
  ],
  [
    'lists what has been given back',
    'list, where it exists, shows the keys that are taken, by whom, and no others',
    class extends Recording {
      override async list({ prefix }: KeyQuery): Promise<KeyPage> {
        const keys = [...this.owners.keys()].filter((key) => key.startsWith(prefix));
        return { keys: keys.map((key) => ({ key, locked: true })) };
      }
    },
  ],
  [
    'takes a prefix for a pattern',
    'list, where it exists, takes a prefix as it is, and gives every key exactly',
    class extends MemoryStore {
      override async list(query: KeyQuery): Promise<KeyPage> {
        const { keys } = await super.list({ ...query, prefix: '', limit: 1e9 });
        const source = query.prefix
          .replace(/[.+^${}()|\\]/g, '\\$&')
          .replaceAll('*', '.*')
          .replaceAll('?', '.');
        const pattern = new RegExp(`^${source}`);
        return { keys: keys.filter(({ key }) => pattern.test(key)) };
      }
    },
  ],
  [
    'drops what does not fit on a page',
    'list, where it exists, gives pages of no more than was asked for, which together hold every key that stays taken',
    class extends MemoryStore {
      override async list(query: KeyQuery): Promise<KeyPage> {
        const { keys, cursor } = await super.list({ ...query, limit: query.limit + 1 });
        return { keys: keys.slice(0, query.limit), ...(cursor === undefined ? {} : { cursor }) };
      }
    },
  ],
  [
    'gives more than was asked for',
    'list, where it exists, gives pages of no more than was asked for, which together hold every key that stays taken',
    class extends MemoryStore {
      override list(query: KeyQuery): Promise<KeyPage> {
        return super.list({ ...query, limit: query.limit + 1 });
      }
    },
  ],
  [
    'breaks on a foreign cursor',
    'list, where it exists, refuses a cursor that it never gave',
    class extends MemoryStore {
      override list(query: KeyQuery): Promise<KeyPage> {
        if (query.cursor === '***') return Promise.reject(new Error('unexpected token'));
        return super.list(query);
      }
    },
  ],
  [
    'says that it took a key by force, and did not',
    'forceRelease, where it exists, takes a key from its owner, who can neither renew nor release it any more',
    class extends MemoryStore {
      override async forceRelease(key: string): Promise<boolean> {
        return (await super.inspect(key)).locked;
      }
    },
  ],
  [
    'says that it always took something by force',
    'forceRelease, where it exists, says that there was nothing to release',
    class extends MemoryStore {
      override async forceRelease(key: string): Promise<boolean> {
        await super.forceRelease(key);
        return true;
      }
    },
  ],
  [
    'takes by force only what has an owner',
    'forceRelease, where it exists, frees a key that is kept past its release',
    class extends Recording {
      override async forceRelease(key: string): Promise<boolean> {
        return super.release(key, this.owners.get(key) ?? '');
      }
    },
  ],
  [
    'takes by force in silence',
    'forceRelease, where it exists, wakes who waits for the key',
    class extends MemoryStore {
      #silent = false;
      override onFree(key: string, wake: () => void): () => void {
        return super.onFree(key, () => this.#silent || wake());
      }
      override async forceRelease(key: string): Promise<boolean> {
        this.#silent = true;
        return super.forceRelease(key).finally(() => (this.#silent = false));
      }
    },
  ],
];

async function failures(Store: StoreClass): Promise<string[]> {
  const runtime = new ManualRuntime();
  const cases: { name: string; run: () => Promise<void> }[] = [];
  defineStoreContract({
    test: (name, run) => cases.push({ name, run }),
    createStore: () => new Store(runtime),
    elapse: (ms) => runtime.advance(ms),
  });
  const failed: string[] = [];
  for (const { name, run } of cases) await run().catch(() => failed.push(name));
  return failed;
}

describe('the store contract', () => {
  it('passes a store that is right', async () => {
    expect(await failures(MemoryStore)).toEqual([]);
  });

  it.each(MUTANTS)('fails a store that %s', async (_description, failing, Store) => {
    expect(await failures(Store)).toContain(failing);
  });
});
