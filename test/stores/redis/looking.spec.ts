import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { LockLostError, LockOptionsError, LockUnavailableError } from '../../../lib/errors.js';
import { LockManager } from '../../../lib/lock-manager.js';
import type { LockEntry } from '../../../lib/lock-info.js';
import type { KeyState, LockStore } from '../../../lib/stores/lock-store.js';
import type { RedisNodeEntry } from '../../../lib/stores/redis/redis-client.js';
import { connectRedis } from '../../../lib/stores/redis/redis.store.js';
import type { RedlockStore } from '../../../lib/stores/redis/redlock.store.js';
import { eventually } from '../../support/eventually.js';
import { RedisCluster } from '../../support/redis-cluster.js';
import { startRedisNodes, stopAll, type RedisServer } from '../../support/redis-server.js';

const TTL_MS = 600_000;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function open(...nodes: RedisNodeEntry[]): Promise<RedlockStore> {
  const store = await connectRedis({ nodes, ttlMs: 30_000, nodeTimeout: '5s', quarantine: 0 });
  ends.push(() => store.close());
  return store;
}

async function all(store: LockStore, prefix = '', limit = 100): Promise<KeyState[]> {
  const found: KeyState[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list!({ prefix, limit, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.keys);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return found;
}

const keysOf = (states: readonly KeyState[]): string[] => states.map(({ key }) => key).sort();

describe('Looking at the locks of one Redis', () => {
  let servers: RedisServer[] = [];
  let redis: Redis;
  beforeAll(async () => {
    servers = await startRedisNodes(1);
    redis = new Redis(servers[0]!.port, '127.0.0.1');
  });
  afterEach(() => redis.flushall());
  afterAll(async () => {
    redis?.disconnect();
    await stopAll(servers);
  });

  const manager = async (): Promise<LockManager> => {
    const made = new LockManager(await open(servers[0]!.url));
    ends.push(() => made.shutdown(500));
    return made;
  };

  it('lists ten thousand locks among as many fences and foreign keys, each once, in pages', async () => {
    const store = await open(servers[0]!.url);
    const locks = Array.from({ length: 10_000 }, (_, index) => `job:${index}`);
    for (let at = 0; at < locks.length; at += 1000) {
      const some = locks.slice(at, at + 1000);
      await Promise.all(some.map((key) => store.acquire(key, `o/${key}`, TTL_MS)));
      await redis.mset(some.flatMap((key) => [`foreign:${key}`, 'x', `lock:${key}`, 'x']));
    }
    const found = await all(store, '', 1000);
    expect(keysOf(found)).toEqual([...locks].sort());
    expect(found.every(({ locked, owner, key }) => locked && owner === `o/${key}`)).toBe(true);
  });

  it('never uses KEYS, and asks for no more than a thousand keys at a time', async () => {
    const asked: string[][] = [];
    const client = new Redis(servers[0]!.port, '127.0.0.1');
    ends.push(() => client.disconnect());
    const { sendCommand } = client;
    client.sendCommand = (command, ...rest) => {
      asked.push([command.name, ...command.args.map(String)]);
      return sendCommand.call(client, command, ...rest);
    };
    const store = await open(client);
    for (let index = 0; index < 3000; index++) redis.set(`noise:${index}`, 'x').catch(() => undefined);
    await store.acquire('a', 'o', TTL_MS);
    expect(keysOf(await all(store, '', 1000))).toEqual(['a']);
    const scans = asked.filter(([name]) => name === 'scan');
    expect(scans.length).toBeGreaterThan(1);
    for (const scan of scans) expect(Number(scan[scan.indexOf('COUNT') + 1])).toBeLessThanOrEqual(1000);
    expect(asked.map(([name]) => name)).not.toContain('keys');
  });

  it('gives an empty page with a cursor, rather than to go on for long where little is found', async () => {
    const store = await open(servers[0]!.url);
    const noise = Array.from({ length: 150_000 }, (_, index) => [`noise:${index}`, 'x']);
    for (let at = 0; at < noise.length; at += 10_000) await redis.mset(noise.slice(at, at + 10_000).flat());
    const page = await store.list!({ prefix: '', limit: 1 });
    expect(page).toEqual({ keys: [], cursor: expect.any(String) });
    expect(await all(store)).toEqual([]);
  });

  it('keeps to its key prefix, glob characters in it included', async () => {
    const [mine, other] = ['app[1]*:', 'app1:'].map(
      (keyPrefix) => new Redis(servers[0]!.port, '127.0.0.1', { keyPrefix }),
    );
    ends.push(() => [mine, other].forEach((client) => client!.disconnect()));
    const [first, second] = [await open(mine!), await open(other!)];
    await first.acquire('a', 'o', TTL_MS);
    await second.acquire('b', 'p', TTL_MS);
    expect(keysOf(await all(first))).toEqual(['a']);
    expect(keysOf(await all(second))).toEqual(['b']);
    expect(await first.forceRelease('a')).toBe(true);
    expect(await second.inspect('b')).toMatchObject({ locked: true });
  });

  it('goes on where a page ended although a key was released there in the meantime', async () => {
    const store = await open(servers[0]!.url);
    const keys = Array.from({ length: 40 }, (_, index) => `k${index}`);
    for (const key of keys) await store.acquire(key, key, TTL_MS);
    const first = await store.list!({ prefix: '', limit: 10 });
    const last = first.keys.at(-1)!.key;
    await store.release(last, last);
    const rest: KeyState[] = [];
    for (let { cursor } = first; cursor !== undefined;) {
      const page = await store.list!({ prefix: '', limit: 10, cursor });
      rest.push(...page.keys);
      ({ cursor } = page);
    }
    expect(keysOf([...first.keys, ...rest])).toEqual([...keys].sort());
  });

  it('says who holds a key, from which host and process, and since when', async () => {
    const locks = await manager();
    const before = Date.now();
    await locks.acquire('job:a', { ttl: '60s' });
    const info = await locks.inspect('job:a');
    expect(info).toMatchObject({ locked: true, pid: process.pid, waiters: 0, fencingToken: expect.any(Number) });
    expect(info.pod).toMatch(/^[\w.-]+$/);
    expect(info.since!.getTime()).toBeGreaterThanOrEqual(before);
    expect(info.since!.getTime()).toBeLessThanOrEqual(Date.now());
    expect((await locks.list({ prefix: 'job:' })).locks).toEqual([
      { ...info, key: 'job:a', remainingMs: expect.any(Number) },
    ]);
  });

  it('says that a key is only kept for its minHold, and by whom', async () => {
    const locks = await manager();
    await (await locks.acquire('kept', { minHold: '60s' })).release();
    expect(await locks.inspect('kept')).toMatchObject({ locked: true, released: true, pid: process.pid });
  });

  it('counts the processes that stand in line', async () => {
    const [holder, ...pods] = [await manager(), await manager(), await manager()];
    const lock = await holder!.acquire('wanted');
    const waiting = pods.map((pod) => pod.acquire('wanted', { wait: '30s' }));
    await eventually(async () => expect(await holder!.inspect('wanted')).toMatchObject({ waiters: 2 }));
    await lock.release();
    for (const asked of waiting) void asked.then((next) => next.release());
    await Promise.all(waiting);
    await eventually(async () => expect(await holder!.inspect('wanted')).toMatchObject({ locked: false }));
  });

  it('takes a key by force: the holder is told by its next renewal, the first in line has a higher token', async () => {
    const [holder, waiter] = [await manager(), await manager()];
    const lock = await holder.acquire('forced', { ttl: '3s' });
    const lost = new Promise((resolve) => lock.signal.addEventListener('abort', () => resolve(lock.signal.reason)));
    const waiting = waiter.acquire('forced', { wait: '30s' });
    await eventually(async () => expect(await waiter.inspect('forced')).toMatchObject({ waiters: 1 }));
    expect(await waiter.forceRelease('forced')).toBe(true);
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await lost).toMatchObject({ constructor: LockLostError, reason: 'taken' });
    expect(next.held).toBe(true);
    expect(await next.release()).toBe(true);
  });

  it('takes nothing from a holder who came after the one that was seen', async () => {
    const client = new Redis(servers[0]!.port, '127.0.0.1');
    ends.push(() => client.disconnect());
    const store = await open(client);
    await store.acquire('moving', 'first', TTL_MS);
    const { evalsha } = client;
    let looks = 0;
    // Between the look and the release the lock goes to someone else.
    jest.spyOn(client, 'evalsha').mockImplementation((async (...args: Parameters<typeof evalsha>) => {
      const answer: unknown = await (evalsha as (...all: unknown[]) => Promise<unknown>).apply(client, args);
      if (++looks === 1) await redis.set('lock:{moving}', 'second', 'PX', TTL_MS);
      return answer;
    }) as typeof evalsha);
    expect(await store.forceRelease('moving')).toBe(false);
    expect(await redis.get('lock:{moving}')).toBe('second');
  });

  it.each<[string, object]>([
    ['limit', { limit: 0 }],
    ['limit', { limit: 1001 }],
    ['limit', { limit: 1.5 }],
    ['prefix', { prefix: 5 }],
    ['prefix', { prefix: '\ud800' }],
    ['prefix', { prefix: 'x'.repeat(513) }],
    ['cursor', { cursor: 'x' }],
    ['cursor', { cursor: Buffer.from('[0,"9:0:1","",[]]').toString('base64url') }],
    ['cursor', { cursor: 'x'.repeat(5000) }],
    ['query option', { prefx: 'a' }],
    ['query', null as never],
  ])('refuses a bad %s (%#)', async (option, query) => {
    const locks = await manager();
    const refused = await locks.list(query).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LockOptionsError);
    expect((refused as LockOptionsError).option).toBe(option);
  });

  it('rejects, rather than to call what it cannot see free, when that Redis is gone', async () => {
    const [server] = await startRedisNodes(1);
    ends.push(() => server!.stop());
    const store = await open(server!.url);
    await server!.kill();
    const refused = await store.list!({ prefix: 'a', limit: 1 }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LockUnavailableError);
    expect((refused as Error).message).toContain('could not be listed');
    await expect(store.forceRelease('a')).rejects.toBeInstanceOf(LockUnavailableError);
  });
});

describe('Looking at the locks of three Redis', () => {
  let servers: RedisServer[] = [];
  beforeAll(async () => void (servers = await startRedisNodes(3)));
  afterEach(async () => {
    for (const server of servers) {
      const redis = new Redis(server.port, '127.0.0.1');
      await redis.flushall();
      redis.disconnect();
    }
  });
  afterAll(() => stopAll(servers));

  async function put(index: number, key: string, owner: string): Promise<void> {
    const redis = new Redis(servers[index]!.port, '127.0.0.1');
    await redis.set(`lock:{${key}}`, owner, 'PX', TTL_MS);
    redis.disconnect();
  }

  const openAll = (): Promise<RedlockStore> => open(...servers.map(({ url }) => url));

  it('lists each once, says how many nodes have it, and calls held only what a majority has', async () => {
    const store = await openAll();
    for (let index = 0; index < 30; index++) await store.acquire(`all:${index}`, 'o', TTL_MS);
    await put(1, 'two', 'a');
    await put(2, 'two', 'a');
    await put(2, 'one', 'a');
    await put(0, 'split', 'a');
    await put(1, 'split', 'b');
    await put(2, 'split', 'c');
    for (const limit of [7, 1000]) {
      const found = await all(store, '', limit);
      expect(keysOf(found)).toEqual(
        [...Array.from({ length: 30 }, (_, index) => `all:${index}`), 'one', 'split', 'two'].sort(),
      );
      const seen = (key: string) => found.find((state) => state.key === key);
      expect(seen('all:0')).toMatchObject({ locked: true, nodes: { holding: 3, answering: 3, all: 3 } });
      expect(seen('two')).toMatchObject({ locked: true, owner: 'a', nodes: { holding: 2, answering: 3, all: 3 } });
      expect(seen('one')).toMatchObject({ locked: false, owner: 'a', nodes: { holding: 1, answering: 3, all: 3 } });
      expect(seen('split')).toMatchObject({ locked: false, nodes: { holding: 1, answering: 3, all: 3 } });
    }
  });

  it('goes on without one of them, also when that goes away in the midst of a listing', async () => {
    const own = await startRedisNodes(3);
    ends.push(() => stopAll(own));
    const store = await open(...own.map(({ url }) => url));
    const keys = Array.from({ length: 30 }, (_, index) => `k:${index}`);
    for (const key of keys) await store.acquire(key, 'o', TTL_MS);
    const first = await store.list!({ prefix: '', limit: 10 });
    await own[0]!.kill();
    const rest: KeyState[] = [];
    for (let { cursor } = first; cursor !== undefined;) {
      const page = await store.list!({ prefix: '', limit: 10, cursor });
      rest.push(...page.keys);
      ({ cursor } = page);
    }
    expect([...new Set(keysOf([...first.keys, ...rest]))]).toEqual([...keys].sort());
    expect(rest.at(-1)).toMatchObject({ locked: true, nodes: { holding: 2, answering: 2, all: 3 } });
    expect(await store.forceRelease('k:0')).toBe(true);
    await own[1]!.kill();
    await expect(store.list!({ prefix: '', limit: 10 })).rejects.toBeInstanceOf(LockUnavailableError);
    await expect(store.forceRelease('k:1')).rejects.toBeInstanceOf(LockUnavailableError);
  });

  it('takes a key by force from all of them, whoever has it where', async () => {
    const store = await openAll();
    await put(0, 'split', 'a');
    await put(1, 'split', 'b');
    await put(2, 'split', 'b');
    expect(await store.forceRelease('split')).toBe(true);
    expect(await all(store)).toEqual([]);
    await put(2, 'left behind', 'a');
    expect(await store.forceRelease('left behind')).toBe(true);
    expect(await all(store)).toEqual([]);
    expect(await store.forceRelease('left behind')).toBe(false);
  });

  it('tells the holder, who does not get it back by renewing, and wakes who waits', async () => {
    const [holder, waiter] = [new LockManager(await openAll()), new LockManager(await openAll())];
    const lock = await holder.acquire('forced', { ttl: '3s' });
    const lost = new Promise((resolve) => lock.signal.addEventListener('abort', () => resolve(lock.signal.reason)));
    const waiting = waiter.acquire('forced', { wait: '30s' });
    expect(await waiter.forceRelease('forced')).toBe(true);
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await lost).toMatchObject({ reason: 'taken' });
    expect(next.held).toBe(true);
    await Promise.all([holder.shutdown(1000), waiter.shutdown(1000)]);
  });
});

describe('Looking at the locks of a Cluster', () => {
  let cluster: RedisCluster | undefined;
  let client: Cluster;
  beforeAll(async () => {
    cluster = await RedisCluster.start();
    client = await cluster.connect('app:');
  }, 60_000);
  afterAll(async () => {
    client?.disconnect();
    await cluster?.stop();
  });

  it('lists those of every primary, in pages, and takes one by force', async () => {
    const locks = new LockManager(await open(client));
    const keys = Array.from({ length: 40 }, (_, index) => `job:${index}`);
    for (const key of keys) await locks.acquire(key);
    const sizes = await Promise.all(client.nodes('master').map((primary) => primary.dbsize()));
    expect(sizes.filter((size) => size > 0)).toHaveLength(3);
    const found: LockEntry[] = [];
    for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
      const page = await locks.list({ limit: 7, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.locks.length).toBeLessThanOrEqual(7);
      found.push(...page.locks);
      ({ cursor } = page);
    }
    expect(found.map(({ key }) => key).sort()).toEqual([...keys].sort());
    expect(await locks.forceRelease('job:7')).toBe(true);
    expect((await locks.list({ prefix: 'job:7' })).locks).toEqual([]);
    await locks.shutdown(1000);
  });
});
