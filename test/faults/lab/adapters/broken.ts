import { Redis } from 'ioredis';
import { systemRuntime, type Clock } from '../../../../lib/runtime.js';
import type { AcquireResult, LockStore } from '../../../../lib/stores/lock-store.js';
import { connectRedis } from '../../../../lib/stores/redis/redis.store.js';
import type { OpenLocks, OpenTerms } from '../adapter.js';
import { locksOf } from './ours.js';

type Verbs = Pick<LockStore, 'acquire' | 'renew' | 'release'>;

/** The store with some of its verbs replaced. */
function replaced(store: LockStore, verbs: Partial<Verbs>): LockStore {
  return new Proxy(store, {
    get: (target, name) => {
      const own = verbs[name as keyof Verbs] ?? (Reflect.get(target, name) as unknown);
      return typeof own === 'function' ? (own as (...args: unknown[]) => unknown).bind(target) : own;
    },
  });
}

async function open({ nodes, ttlMs }: OpenTerms): Promise<{ store: LockStore; clients: Redis[] }> {
  const clients = nodes.map((url) => new Redis(url, { maxRetriesPerRequest: 0 }));
  for (const client of clients) client.on('error', () => undefined);
  return { store: await connectRedis({ nodes, ttlMs }), clients };
}

function broken(breakIt: (store: LockStore, clients: readonly Redis[]) => Partial<Verbs>): OpenLocks {
  return async (terms) => {
    const { store, clients } = await open(terms);
    const locks = locksOf(replaced(store, breakIt(store, clients)), terms);
    const close = async (): Promise<void> => {
      await locks.close();
      clients.forEach((client) => client.disconnect());
    };
    return { ...locks, close };
  };
}

/** "Not yours any more" is taken for "yours". */
export const deafToLoss = broken((store) => ({
  renew: async (key, owner, ttlMs) => {
    await store.renew(key, owner, ttlMs);
    return true;
  },
}));

/** A lock that is not held any more is given back all the same: from under the one who has it now. */
export const releasesAnyones = broken((store, clients) => ({
  release: async (key, owner) => {
    await Promise.all(clients.map((client) => client.del(`lock:{${key}}`).catch(() => 0)));
    return store.release(key, owner).then(() => true);
  },
}));

/** The token is the highest of a counter on each node. */
export const countsTokens = broken((store, clients) => ({
  acquire: async (key, owner, ttlMs, place): Promise<AcquireResult> => {
    const result = await store.acquire(key, owner, ttlMs, place);
    if (!result.acquired) return result;
    const counts = await Promise.all(
      clients.map(async (client) => {
        const count = await client.incr(`count:{${key}}:fence`);
        await client.pexpire(`count:{${key}}:fence`, 60_000);
        return count;
      }),
    );
    return { ...result, fencingToken: Math.max(...counts) };
  },
}));

/** A clock that stands still while a request is on its way: a lease then counts from when the answer came. */
class FlightlessClock implements Clock {
  #lostMs = 0;

  monotonic(): number {
    return performance.now() - this.#lostMs;
  }

  wall(): number {
    return Date.now() - this.#lostMs;
  }

  async during<T>(request: Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await request;
    } finally {
      this.#lostMs += performance.now() - start;
    }
  }
}

export const countsFromReply: OpenLocks = async (terms) => {
  const store = await connectRedis({ nodes: terms.nodes, ttlMs: terms.ttlMs });
  const clock = new FlightlessClock();
  const verbs: Partial<Verbs> = {
    acquire: (...args) => clock.during(store.acquire(...args)),
    renew: (...args) => clock.during(store.renew(...args)),
  };
  return locksOf(replaced(store, verbs), terms, { ...systemRuntime, clock });
};

/** A clock that goes on only while the process looks at it often: whoever was frozen does not know. */
class SleepyClock implements Clock {
  #last = performance.now();
  #sum = 0;

  monotonic(): number {
    const now = performance.now();
    this.#sum += Math.min(now - this.#last, 1000);
    this.#last = now;
    return this.#sum;
  }

  wall(): number {
    return this.monotonic();
  }
}

export const unawareOfPauses: OpenLocks = async (terms) => {
  const store = await connectRedis({ nodes: terms.nodes, ttlMs: terms.ttlMs });
  return locksOf(store, terms, { ...systemRuntime, clock: new SleepyClock() });
};

/** Goes on renewing after the release, and puts the key back where it is gone. */
export const revives = broken((store, clients) => ({
  release: async (key, owner) => {
    const released = await store.release(key, owner);
    setTimeout(() => {
      for (const client of clients) void client.set(`lock:{${key}}`, owner, 'PX', 1000, 'NX').catch(() => null);
    }, 5);
    return released;
  },
}));
