import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockManager } from '../../../lib/lock-manager.js';
import { systemRuntime, type Runtime } from '../../../lib/runtime.js';
import type { LockStore } from '../../../lib/stores/lock-store.js';
import { agreeing } from '../../../lib/stores/redis/free-channel.js';
import { connectRedis } from '../../../lib/stores/redis/redis.store.js';
import type { RedisNodeEntry } from '../../../lib/stores/redis/redis-client.js';
import { eventually } from '../../support/eventually.js';
import { startRedisNodes, stopAll, type RedisServer } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

const LONG_MS = 600_000;
/** A waiter that is not woken sleeps on: then it is the wake-up that a test sees. */
const sleepy: Runtime = {
  ...systemRuntime,
  timers: {
    start: (callback, delayMs, keepAlive) =>
      delayMs > 1000 ? systemRuntime.timers.start(callback, delayMs, keepAlive) : () => undefined,
  },
};

describe.each([1, 3])('The free channel of %i node(s)', (count) => {
  let servers: RedisServer[] = [];
  const open: { close(): Promise<unknown> }[] = [];
  let keys = 0;
  const freshKey = (): string => `key:${++keys}`;

  beforeAll(async () => void (servers = await startRedisNodes(count)));
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
    await Promise.all(servers.map(async (server) => server.running || server.restart()));
  });
  afterAll(() => stopAll(servers));

  async function store(nodes: readonly RedisNodeEntry[] = servers.map(({ url }) => url)): Promise<LockStore> {
    const made = await connectRedis({ nodes, ttlMs: 30_000, nodeTimeout: '5s', quarantine: 0 });
    open.push({ close: async () => made.close() });
    return made;
  }

  async function pod(nodes?: readonly RedisNodeEntry[], runtime?: Runtime): Promise<LockManager> {
    const made = new LockManager(await store(nodes), {}, runtime);
    open.unshift({ close: async () => made.shutdown(1000) });
    return made;
  }

  /** Takes the key, lets those who listen ask for it in vain, and gives it back. */
  async function passes(holder: LockStore, key: string, ...listeners: LockStore[]): Promise<void> {
    const owner = `owner ${++keys}`;
    await holder.acquire(key, owner, LONG_MS);
    for (const listener of listeners) {
      expect(await listener.acquire(key, `waiter ${++keys}`, LONG_MS, {})).toMatchObject({
        acquired: false,
      });
    }
    await holder.release(key, owner);
  }

  /** Resolves when whoever listens to the key is woken by a release. The first wake-up says no more than that it listens. */
  async function listening(of: LockStore, key: string): Promise<{ readonly woken: () => number; stop: () => void }> {
    let woken = 0;
    const stop = of.onFree!(key, () => woken++);
    await eventually(() => expect(woken).toBe(1));
    return { woken: () => woken - 1, stop };
  }

  async function subscribers(key: string): Promise<number[]> {
    return Promise.all(
      servers.map(async ({ port, running }) => {
        if (!running) return 0;
        const redis = new Redis(port, '127.0.0.1');
        const [, subscribed] = (await redis.pubsub('NUMSUB', `lock:{${key}}:free`)) as [string, number];
        redis.disconnect();
        return Number(subscribed);
      }),
    );
  }

  /** Who listens at each node, or, where there is only one, stands in line there. */
  async function waitersSeen(key: string): Promise<number[]> {
    if (count > 1) return subscribers(key);
    const redis = new Redis(servers[0]!.port, '127.0.0.1');
    const line = await redis.get(`lock:{${key}}:free`);
    redis.disconnect();
    return [(line ?? '').split(' ').filter(Boolean).length];
  }

  it('wakes who waits in another process once for a release, and only for that key', async () => {
    const [holder, waiter] = [await store(), await store()];
    const [key, other] = [freshKey(), freshKey()];
    const here = await listening(waiter, key);
    const elsewhere = await listening(waiter, other);
    await passes(holder, key, waiter);
    await eventually(() => expect(here.woken()).toBe(1));
    await passes(holder, key, waiter);
    await eventually(() => expect(here.woken()).toBe(2));
    expect(elsewhere.woken()).toBe(0);
  });

  it('says nothing of an attempt that was undone, nor of a key that stays taken past its release', async () => {
    const [holder, waiter] = [await store(), await store()];
    const key = freshKey();
    const here = await listening(waiter, key);
    await holder.acquire(key, 'keeper', LONG_MS);
    expect(await waiter.acquire(key, 'refused', LONG_MS, {})).toMatchObject({ acquired: false });
    await holder.release(key, 'keeper', 1);
    await eventually(async () => expect((await holder.inspect!(key)).locked).toBe(false));
    const hung = servers.slice(1);
    for (const server of hung) server.freeze();
    // Without a majority it is undone, on those that carry it out late as well.
    const attempt = holder.acquire(key, 'late', 300).catch(() => undefined);
    await attempt;
    for (const server of hung) server.thaw();
    await eventually(async () =>
      expect(await holder.acquire(key, freshKey(), LONG_MS)).toMatchObject({ acquired: true }),
    );
    // What a node had said before it says this, the waiter has heard by now.
    const other = freshKey();
    const barrier = await listening(waiter, other);
    await passes(holder, other, waiter);
    await eventually(() => expect(barrier.woken()).toBe(1));
    expect(here.woken()).toBe(0);
  });

  it('tells who begins to listen what was said since they were refused', async () => {
    const [holder, waiter] = [await store(), await store()];
    const [key, other] = [freshKey(), freshKey()];
    const before = await listening(waiter, key);
    before.stop();
    // What is said while nobody waits is no news to who does later.
    await passes(holder, key, waiter);
    await holder.acquire(key, 'holder', LONG_MS);
    expect(await waiter.acquire(key, 'refused', LONG_MS, {})).toMatchObject({ acquired: false });
    await holder.release(key, 'holder');
    // What was said of the key before it is said of the other one has arrived by then.
    const barrier = await listening(waiter, other);
    await passes(holder, other, waiter);
    await eventually(() => expect(barrier.woken()).toBe(1));
    let woken = 0;
    const stop = waiter.onFree!(key, () => woken++);
    await eventually(() => expect(woken).toBe(1));
    stop();
  });

  it('hands a lock on as soon as it is given back, however long the waiter would have slept', async () => {
    const [holder, waiter] = [await pod(), await pod(undefined, sleepy)];
    const key = freshKey();
    for (let round = 0; round < 5; round++) {
      const lock = await holder.acquire(key);
      const next = waiter.acquire(key, { wait: '30s' });
      await eventually(async () => expect(await waitersSeen(key)).toEqual(servers.map(() => 1)));
      await lock.release();
      expect(await (await next).release()).toBe(true);
    }
  });

  it('does so while a minority of the nodes is gone', async () => {
    const [holder, waiter] = [await pod(), await pod(undefined, sleepy)];
    const gone = servers.slice(Math.floor(count / 2) + 1);
    await Promise.all(gone.map(async (server) => server.kill()));
    const key = freshKey();
    const lock = await holder.acquire(key);
    const next = waiter.acquire(key, { wait: '30s' });
    await eventually(async () =>
      expect(await waitersSeen(key)).toEqual(servers.map((_, n) => (n > count / 2 ? 0 : 1))),
    );
    await lock.release();
    expect(await (await next).release()).toBe(true);
  });

  it('does so when the connections that listen are killed as it is given back', async () => {
    const [holder, waiter] = [await pod(), await pod(undefined, sleepy)];
    const key = freshKey();
    const lock = await holder.acquire(key);
    const next = waiter.acquire(key, { wait: '30s' });
    await eventually(async () => expect(await waitersSeen(key)).toEqual(servers.map(() => 1)));
    const killed = servers.map(async ({ port }) => {
      const redis = new Redis(port, '127.0.0.1');
      await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub').finally(() => redis.disconnect());
    });
    await Promise.all([...killed, lock.release()]);
    expect(await (await next).release()).toBe(true);
  });

  it('takes a connection only once someone waits, and leaves no subscription when nobody does any more', async () => {
    const waiter = await store();
    const clients = async (): Promise<number> => {
      const redis = new Redis(servers[0]!.port, '127.0.0.1');
      const list = (await redis.client('LIST')) as string;
      redis.disconnect();
      return list.split('\n').filter((line) => line.includes('nestjs-fenced-lock')).length;
    };
    expect(await clients()).toBe(1);
    const key = freshKey();
    const { stop } = await listening(waiter, key);
    expect(await clients()).toBe(2);
    expect(await subscribers(key)).toEqual(servers.map(() => 1));
    stop();
    await eventually(async () => expect(await subscribers(key)).toEqual(servers.map(() => 0)));
  });

  it('wakes after its connection broke, since a message may have been lost, and listens again', async () => {
    const proxies = await Promise.all(servers.map(({ port }) => TcpProxy.start(port)));
    open.push({ close: async () => Promise.all(proxies.map(async (proxy) => proxy.close())) });
    const [holder, waiter] = [await store(), await store(proxies.map((proxy) => proxy.url()))];
    const key = freshKey();
    const here = await listening(waiter, key);
    for (const proxy of proxies) proxy.reset();
    await eventually(() => expect(here.woken()).toBeGreaterThan(0));
    await eventually(async () => expect(await subscribers(key)).toEqual(servers.map(() => 1)));
    const before = here.woken();
    await passes(holder, key, waiter);
    await eventually(() => expect(here.woken()).toBeGreaterThan(before));
  });

  it('listens where a client of yours that prefixes keys publishes', async () => {
    const client = (port: number): Redis => {
      const redis = new Redis(port, '127.0.0.1', { keyPrefix: 'app:' });
      open.push({ close: async () => redis.disconnect() });
      return redis;
    };
    const nodes = (): Redis[] => servers.map(({ port }) => client(port));
    const [holder, waiter] = [await store(nodes()), await store(nodes())];
    const key = freshKey();
    const here = await listening(waiter, key);
    await passes(holder, key, waiter);
    await eventually(() => expect(here.woken()).toBe(1));
  });

  it('is done without where the user may not listen: the waiter looks from time to time', async () => {
    const nodes = await Promise.all(
      servers.map(async ({ port }) => {
        const admin = new Redis(port, '127.0.0.1');
        await admin.call('ACL', 'SETUSER', 'deaf', 'on', '>secret', '~*', '+@all', '-subscribe', 'resetchannels');
        admin.disconnect();
        return { host: '127.0.0.1', port, username: 'deaf', password: 'secret' };
      }),
    );
    const [holder, waiter] = [await pod(nodes), await pod(nodes)];
    const key = freshKey();
    const lock = await holder.acquire(key);
    const next = waiter.acquire(key, { wait: '30s' });
    await lock.release();
    expect((await next).held).toBe(true);
  });
});

describe('agreeing', () => {
  it('wakes once, when so many nodes have told of the same release', () => {
    let woken = 0;
    const told = agreeing(2, () => woken++);
    told('a');
    told('b');
    expect(woken).toBe(0);
    told('a');
    expect(woken).toBe(1);
    told('a');
    told('b');
    expect(woken).toBe(2);
  });

  it('wakes whenever so many nodes may have lost messages', () => {
    let woken = 0;
    const told = agreeing(2, () => woken++);
    for (let times = 0; times < 4; times++) told(undefined);
    expect(woken).toBe(2);
  });

  it('does not grow with releases that only some nodes tell of', () => {
    const told = agreeing(2, () => undefined);
    for (let owner = 0; owner < 10_000; owner++) told(String(owner));
    let woken = 0;
    const other = agreeing(2, () => woken++);
    for (let owner = 0; owner < 1000; owner++) other(String(owner));
    other('last');
    other('last');
    expect(woken).toBe(1);
  });
});
