import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { LockBusyError } from '../../lib/errors.js';
import { fenceName, freeChannel, lockName } from '../../lib/stores/redis/key-names.js';
import { connectRedis } from '../../lib/stores/redis/redis.store.js';
import { Lab } from '../faults/lab.js';
import { keepsContract } from '../support/contract-at-once.js';
import { eventually } from '../support/eventually.js';
import { RedisCluster } from '../support/redis-cluster.js';
import type { RedisServer } from '../support/redis-server.js';

const AWKWARD = [
  ...['{', '}', '{}', '}{', '{{', '{a}', '{a}b', 'b{a}', '{}{a}', 'a{', '%', '%7B', '%7Ba%7D'],
  ...['😀', '{😀}', 'a\nb', '\n', '..', '../..', '.', ' ', '*', '[a]', '\\', ':free', '{x}:fence', 'lock:{x}'],
  ...['x'.repeat(512), '字'.repeat(170), '{'.repeat(512), '}'.repeat(512), '😀'.repeat(128)],
];

const lab = new Lab();
let cluster: RedisCluster;
let servers: RedisServer[];

beforeAll(async () => {
  [cluster, servers] = await Promise.all([RedisCluster.start(), lab.start(3)]);
}, 60_000);
afterEach(() => lab.tidy());
afterAll(async () => {
  await Promise.all([lab.end(), cluster?.stop()]);
});

describe('Awkward keys', () => {
  it('have their lock, fence and line in one slot, whatever prefix a client has', async () => {
    const redis = new Redis(cluster.servers[0]!.port, '127.0.0.1');
    const slot = (name: string): Promise<unknown> => redis.call('CLUSTER', 'KEYSLOT', name);
    for (const key of AWKWARD) {
      for (const prefix of ['', 'app:', '{app}:', 'a{b', 'a}b', '}{']) {
        const names = [lockName(key), fenceName(key), freeChannel(key)].map((name) => prefix + name);
        expect({ key, prefix, slots: new Set(await Promise.all(names.map(slot))).size }).toEqual({
          key,
          prefix,
          slots: 1,
        });
      }
    }
    redis.disconnect();
  });

  it('are spread over the slots of a Cluster, braces or not', async () => {
    const redis = new Redis(cluster.servers[0]!.port, '127.0.0.1');
    const slots = await Promise.all(AWKWARD.map((key) => redis.call('CLUSTER', 'KEYSLOT', lockName(key))));
    redis.disconnect();
    expect(new Set(slots).size).toBe(AWKWARD.length);
  });

  it('are locked, waited for, listed and released on a Cluster, each as it is', async () => {
    const nodes = [lab.keep(new Cluster(cluster.addresses))];
    const [holder, other] = [await lab.pod({ nodes }), await lab.pod({ nodes })];
    const locks = await Promise.all(AWKWARD.map((key) => holder.acquire(key)));
    for (const key of AWKWARD) await expect(other.acquire(key)).rejects.toBeInstanceOf(LockBusyError);
    const listed = await other.list({ limit: 1000 });
    expect(listed.locks.map(({ key }) => key).sort()).toEqual([...AWKWARD].sort());
    const next = AWKWARD.map((key) => other.acquire(key, { wait: '20s' }));
    for (const lock of locks) {
      await lock.renew();
      expect(await lock.release()).toBe(true);
    }
    for (const [index, taken] of (await Promise.all(next)).entries()) {
      expect(taken.fencingToken).toBeGreaterThan(locks[index]!.fencingToken);
      expect(await taken.release()).toBe(true);
    }
    expect((await other.list()).locks).toEqual([]);
  }, 60_000);
});

describe('What the scripts touch', () => {
  /** What scripts did with keys that they had not been given, as the server itself tells it. */
  async function strayKeys(
    server: RedisServer,
    work: () => Promise<unknown>,
  ): Promise<{ strays: string[]; touched: number }> {
    const redis = new Redis(server.port, '127.0.0.1');
    const monitor = await redis.monitor();
    let given: string[] = [];
    let touched = 0;
    const strays: string[] = [];
    const ended = new Promise<void>((resolve) => {
      monitor.on('monitor', (_time: string, [name = '', ...args]: string[], source: string) => {
        const command = name.toUpperCase();
        if (command === 'ECHO') return resolve();
        if (command === 'EVAL' || command === 'EVALSHA') given = args.slice(2, 2 + Number(args[1]));
        if (source !== 'lua' || command === 'PUBLISH' || command === 'TIME') return;
        touched++;
        const keys = command === 'DEL' ? args : args.slice(0, 1);
        strays.push(...keys.filter((key) => !given.includes(key)).map((key) => `${command} ${key}`));
      });
    });
    await work();
    await redis.echo('over');
    await ended;
    monitor.disconnect();
    redis.disconnect();
    return { strays, touched };
  }

  it('is among the keys they are given, on a lone node with a line of waiters', async () => {
    const [server] = servers as [RedisServer];
    const nodes = [server.url];
    const { strays, touched } = await strayKeys(server, async () => {
      const pods = await Promise.all([1, 2, 3].map(() => lab.pod({ nodes })));
      const key = lab.key();
      const lock = await pods[0]!.acquire(key);
      const waiters = pods.map((pod) => pod.acquire(key, { wait: '20s' }).then((next) => next.release()));
      const line = new Redis(server.port, '127.0.0.1');
      await eventually(async () => expect(await line.get(`${lockName(key)}:free`)).toMatch(/ /));
      line.disconnect();
      await lock.release();
      await Promise.all(waiters);
      await keepsContract(() => connectRedis({ nodes, ttlMs: 30_000, nodeTimeout: '5s' }));
    });
    expect(strays).toEqual([]);
    expect(touched).toBeGreaterThan(1000);
  }, 60_000);

  it('is among the keys they are given, on three nodes with a quarantine, one of which is healed', async () => {
    const nodes = servers.map(({ url }) => url);
    const { strays, touched } = await strayKeys(servers[2]!, async () => {
      const pod = await lab.pod({ nodes, quarantine: '1ms' });
      const lock = await eventually(() => pod.acquire(lab.key()));
      const redis = new Redis(servers[2]!.port, '127.0.0.1');
      await redis.del(lockName(lock.key));
      await lock.renew();
      await eventually(async () => expect(await redis.get(lockName(lock.key))).not.toBeNull());
      redis.disconnect();
      await lock.release();
      await keepsContract(() => connectRedis({ nodes, ttlMs: 30_000, nodeTimeout: '5s', quarantine: '1ms' }));
    });
    expect(strays).toEqual([]);
    expect(touched).toBeGreaterThan(1000);
  }, 60_000);
});
