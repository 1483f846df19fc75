import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { LockBusyError, LockOptionsError, LockUnavailableError } from '../../lib/errors.js';
import type { LockManager } from '../../lib/lock-manager.js';
import { connectRedis } from '../../lib/stores/redis/redis.store.js';
import { Lab, lockName, renewed } from '../faults/lab.js';
import { eventually } from '../support/eventually.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { RedisServer } from '../support/redis-server.js';

const lab = new Lab();
let cluster: RedisCluster;

beforeAll(async () => void (cluster = await RedisCluster.start({ replicas: true })), 60_000);
afterEach(() => lab.tidy());
afterAll(() => cluster?.stop());

const client = (of = cluster): Cluster => lab.keep(new Cluster(of.addresses));
const pod = (): Promise<LockManager> => lab.pod({ nodes: [client()] });

async function ask<T>({ port }: { port: number }, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(port, '127.0.0.1');
  return work(redis).finally(() => redis.disconnect());
}

/** Keys whose locks are on different servers, one of each. */
async function keysApart(): Promise<string[]> {
  const keys = new Map<RedisServer, string>();
  while (keys.size < cluster.primaries) {
    const key = lab.key();
    keys.set(await cluster.primaryOf(lockName(key)), key);
  }
  return [...keys.values()];
}

async function owner(key: string): Promise<string | null> {
  return ask(await cluster.primaryOf(lockName(key)), (redis) => redis.get(lockName(key)));
}

describe('Several keys on a Cluster', () => {
  it('are taken together, server by server, under one token', async () => {
    const [one, other] = [await pod(), await pod()];
    const keys = await keysApart();
    const lock = await one.acquire(keys);
    expect(new Set(await Promise.all(keys.map(owner))).size).toBe(1);
    for (const key of keys) await expect(other.acquire(key)).rejects.toBeInstanceOf(LockBusyError);
    await lock.renew();
    expect(await lock.release()).toBe(true);
    await using next = await other.acquire([...keys].reverse());
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
  });

  it('are given back when one of them is busy', async () => {
    const [one, other] = [await pod(), await pod()];
    const keys = await keysApart();
    await using held = await other.acquire(keys[1]!);
    await expect(one.acquire(keys)).rejects.toBeInstanceOf(LockBusyError);
    await eventually(async () => expect(await Promise.all(keys.map(owner))).toEqual([null, expect.any(String), null]));
    expect(held.held).toBe(true);
  });

  it('go to one of those who want them at the same time', async () => {
    const pods = await Promise.all([pod(), pod(), pod()]);
    const keys = await keysApart();
    let holders = 0;
    const work = async (): Promise<void> => {
      expect(++holders).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      holders--;
    };
    await Promise.all(pods.flatMap((each) => [1, 2, 3].map(() => each.withLock(keys, { wait: '20s' }, work))));
    expect(holders).toBe(0);
  });
});

describe('A key prefix on a Cluster', () => {
  it.each(['app:', '{app}:', 'a{b', 'a}b{'])('such as %s is put once before all names of a key', async (keyPrefix) => {
    const prefixed = lab.keep(new Cluster(cluster.addresses, { redisOptions: { keyPrefix } }));
    const [one, waiter] = [await lab.pod({ nodes: [prefixed] }), await lab.pod({ nodes: [client()] })];
    const key = lab.key();
    const lock = await one.acquire(key);
    const name = keyPrefix + lockName(key);
    const primary = await cluster.primaryOf(name);
    expect((await ask(primary, (redis) => redis.keys(`*${key}*`))).sort()).toEqual([name, `${name}:fence`]);
    await using elsewhere = await waiter.acquire(key);
    expect(elsewhere.held).toBe(true);
    const next = one.acquire(key, { wait: '20s' });
    await eventually(async () => expect(await ask(primary, (redis) => redis.get(`${name}:free`))).toMatch(/\S/));
    const channels = (server: RedisServer): Promise<unknown> => ask(server, (redis) => redis.pubsub('CHANNELS'));
    const heard = (await Promise.all(cluster.servers.map(channels))).flat().map(String);
    const start = `${keyPrefix}lock:turn:`;
    expect(heard.map((channel) => channel.slice(0, start.length))).toEqual([start]);
    expect(await lock.release()).toBe(true);
    await (await next).release();
  });

  it('that would tear a key and its fence apart is refused', async () => {
    const torn = lab.keep(new Cluster(cluster.addresses, { keyPrefix: 'app{}:' }));
    await expect(lab.pod({ nodes: [torn] })).rejects.toThrow(/keyPrefix "app\{\}:".*different slots/);
  });
});

describe('A Cluster', () => {
  it('cannot have a quarantine, and several nodes with one among them say so at the start', async () => {
    const nodes = [client(), 'redis://127.0.0.1:1', 'redis://127.0.0.1:2'];
    await expect(connectRedis({ nodes, ttlMs: 30_000 })).rejects.toThrow(LockOptionsError);
    await expect(connectRedis({ nodes, ttlMs: 30_000 })).rejects.toThrow(/quarantine "30000 ms".*give `quarantine: 0`/);
  });

  it('is named in errors by where it was entered', async () => {
    const one = await pod();
    const key = lab.key();
    const primary = await cluster.primaryOf(lockName(key));
    await ask(primary, (redis) => redis.config('SET', 'maxmemory', '1'));
    try {
      await expect(one.acquire(key)).rejects.toMatchObject({
        causes: [{ node: `cluster of 127.0.0.1:${cluster.servers[0]!.port}`, reason: expect.stringContaining('OOM') }],
      });
    } finally {
      await ask(primary, (redis) => redis.config('SET', 'maxmemory', '0'));
    }
  });

  it('that loses a primary mid-hold keeps the lock, once its replica has taken over, and leaves the other keys alone', async () => {
    const [holder, other] = [await pod(), await pod()];
    const keys = await keysApart();
    const locks = await Promise.all(keys.map((key) => holder.acquire(key, { ttl: '15s' })));
    const [key, ...apart] = keys as [string, ...string[]];
    const primary = await cluster.primaryOf(lockName(key));
    const replica = cluster.replicaOf(primary);
    await ask(primary, (redis) => redis.wait(1, 0));
    await primary.kill();
    for (const far of apart) await expect(other.acquire(far)).rejects.toBeInstanceOf(LockBusyError);
    await eventually(async () =>
      expect(await ask(replica, (redis) => redis.info('replication'))).toContain('role:master'),
    );
    for (const lock of locks) await renewed(lock);
    await eventually(() => expect(other.acquire(key)).rejects.toBeInstanceOf(LockBusyError));
    expect(await Promise.all(locks.map((lock) => lock.release()))).toEqual([true, true, true]);
    await using next = await other.acquire(key);
    expect(next.fencingToken).toBeGreaterThan(locks[0]!.fencingToken);
  }, 60_000);

  it('of which a part is gone for good refuses its keys, and serves the others where it is set up to', async () => {
    const small = await RedisCluster.start({ args: ['--cluster-require-full-coverage', 'no'] });
    try {
      const one = await lab.pod({ nodes: [client(small)] });
      await small.servers[2]!.kill();
      const outcomes = new Map<boolean, string>();
      await eventually(async () => {
        const key = lab.key();
        const isGone = (await small.primaryOf(lockName(key))) === small.servers[2];
        const lock = await one.acquire(key).catch((error: unknown) => error as Error);
        if (isGone) expect(lock).toBeInstanceOf(LockUnavailableError);
        else expect(lock).toMatchObject({ held: true });
        outcomes.set(isGone, key);
        expect(outcomes.size).toBe(2);
      });
    } finally {
      await lab.tidy();
      await small.stop();
    }
  }, 60_000);
});

describe('Three Clusters as three nodes', () => {
  it('go on when a primary of one of them is gone, and its Cluster gets the lock back from a renewal', async () => {
    const clusters = await Promise.all([RedisCluster.start(), RedisCluster.start(), RedisCluster.start()]);
    try {
      const nodes = clusters.map((each) => client(each));
      const [holder, other] = [
        await lab.pod({ nodes }),
        await lab.pod({ nodes: clusters.map((each) => client(each)) }),
      ];
      const key = lab.key();
      const lock = await holder.acquire(key, { ttl: '15s' });
      const gone = await clusters[0]!.primaryOf(lockName(key));
      await gone.kill();
      await lock.renew();
      await expect(other.acquire(key)).rejects.toBeInstanceOf(LockBusyError);
      const apart = lab.key();
      expect(await (await other.acquire(apart)).release()).toBe(true);
      expect(await lock.release()).toBe(true);
      await using next = await other.acquire(key);
      expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    } finally {
      await lab.tidy();
      await Promise.all(clusters.map((each) => each.stop()));
    }
  }, 60_000);
});
