import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Lock } from '../../lib/lock.js';
import type { LockManager } from '../../lib/lock-manager.js';
import { eventually } from '../support/eventually.js';
import type { RedisServer } from '../support/redis-server.js';
import { fences, Lab, lockName, on, owners, renewed, urls } from './lab.js';

const TTL_MS = 3000;

const lab = new Lab();
let servers: RedisServer[];

beforeAll(async () => {
  servers = await lab.start(3);
});
afterEach(() => lab.tidy());
afterAll(() => lab.end());

async function take(pod: LockManager, count: number): Promise<Lock[]> {
  const keys = Array.from({ length: count }, () => lab.key());
  return Promise.all(keys.map((key) => pod.acquire(key, { ttl: `${TTL_MS}ms` })));
}

const held = (locks: readonly Lock[]): boolean[] => locks.map((lock) => lock.held);

describe('Locks that are renewed together', () => {
  it('go out as one script per node and batch, and live on', async () => {
    const pod = await lab.pod({ nodes: urls(servers) });
    const locks = await take(pod, 300);
    const scripts = (): Promise<number[]> => Promise.all(servers.map((server) => on(server, scriptsOf)));
    const before = await scripts();
    await Promise.all(locks.map(renewed));
    await Promise.all(locks.map(renewed));
    const sent = (await scripts()).map((count, index) => count - before[index]!);
    for (const count of sent) expect(count).toBeLessThanOrEqual(12);
    expect(held(locks)).toEqual(locks.map(() => true));
  });

  it('go back, with their fences, to a node that lost everything', async () => {
    const [a, b, c] = servers as [RedisServer, RedisServer, RedisServer];
    const pod = await lab.pod({ nodes: urls(servers) });
    const locks = await take(pod, 20);
    await on(c, (redis) => redis.flushall());
    await eventually(async () => {
      for (const { key } of locks) {
        const [owner] = await owners([a], key);
        expect(await owners([b, c], key)).toEqual([owner, owner]);
      }
    });
    for (const { key, fencingToken } of locks) expect(await fences([c], key)).toEqual([fencingToken]);
    expect(held(locks)).toEqual(locks.map(() => true));
  });

  it('lose one that a majority gave to another, and keep the others', async () => {
    const pod = await lab.pod({ nodes: urls(servers) });
    const locks = await take(pod, 10);
    const [stolen, ...others] = locks as [Lock, ...Lock[]];
    const steal = (server: RedisServer): Promise<unknown> =>
      on(server, (redis) => redis.set(lockName(stolen.key), 'another', 'PX', 60_000));
    await Promise.all(servers.slice(0, 2).map(steal));
    await eventually(() => expect(stolen.loss).toMatchObject({ reason: 'taken' }));
    await Promise.all(others.map(renewed));
    expect(held(others)).toEqual(others.map(() => true));
    expect(await owners(servers.slice(0, 2), stolen.key)).toEqual(['another', 'another']);
  });

  it('live on beside one whose key is of another type on a node', async () => {
    const [a] = servers as [RedisServer];
    const pod = await lab.pod({ nodes: urls(servers) });
    const locks = await take(pod, 10);
    await on(a, async (redis) => {
      await redis.del(lockName(locks[0]!.key));
      await redis.lpush(lockName(locks[0]!.key), 'a list');
    });
    await Promise.all(locks.map(renewed));
    expect(held(locks)).toEqual(locks.map(() => true));
  });
});

async function scriptsOf(redis: { info(section: string): Promise<string> }): Promise<number> {
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
}
