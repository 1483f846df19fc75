import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { LockBusyError } from '../../lib/errors.js';
import type { RedisNodeEntry } from '../../lib/stores/redis/redis-client.js';
import { connectRedis } from '../../lib/stores/redis/redis.store.js';
import { Lab } from '../faults/lab.js';
import { keepsContract } from '../support/contract-at-once.js';
import { eventually } from '../support/eventually.js';
import { LEAST_RULES, LOCKS_USER, setUser } from '../support/least-user.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { RedisSentinel } from '../support/redis-sentinel.js';
import type { RedisServer } from '../support/redis-server.js';

const lab = new Lab();
let servers: RedisServer[];
let cluster: RedisCluster;
let sentinel: RedisSentinel;
let logged: string[];

const asUser = ({ port }: RedisServer): RedisNodeEntry => ({ host: '127.0.0.1', port, ...LOCKS_USER });

beforeAll(async () => {
  [servers, cluster, sentinel] = await Promise.all([lab.start(3), RedisCluster.start(), RedisSentinel.start()]);
  const all = [...servers, ...cluster.servers, ...sentinel.servers];
  await Promise.all(all.map((server) => setUser(server, LEAST_RULES)));
}, 60_000);
afterEach(() => lab.tidy());
afterAll(async () => {
  await Promise.all([lab.end(), cluster?.stop(), sentinel?.stop()]);
});

describe('The least user', () => {
  it.each([1, 3])(
    'keeps the contract of the stores on %i node(s)',
    (count) => {
      const nodes = servers.slice(0, count).map(asUser);
      const guard = count > 1 ? { quarantine: '1ms' } : {};
      return keepsContract(() => connectRedis({ nodes, ttlMs: 30_000, nodeTimeout: '5s', ...guard }));
    },
    60_000,
  );

  it.each<[string, () => RedisNodeEntry[]]>([
    ['a lone Redis', () => [asUser(servers[0]!)]],
    ['a Cluster', () => [lab.keep(new Cluster(cluster.addresses, { redisOptions: LOCKS_USER }))]],
    ['a primary behind a Sentinel', () => [{ ...sentinel.options, ...LOCKS_USER }]],
  ])(
    'takes, waits for, renews, lists, takes back and releases locks on %s, and nothing is logged',
    async (_, nodes) => {
      logged = [];
      const log = (message: string): void => void logged.push(message);
      const [holder, other] = [await lab.pod({ nodes: nodes(), log }), await lab.pod({ nodes: nodes(), log })];
      const [key, ...more] = [lab.key(), lab.key(), lab.key()];
      const lock = await holder.acquire(key);
      await expect(other.acquire(key)).rejects.toBeInstanceOf(LockBusyError);
      const next = other.acquire(key, { wait: '20s' });
      await lock.renew();
      await eventually(async () => expect((await holder.inspect(key)).waiters).toBe(1));
      expect(await lock.release()).toBe(true);
      expect(await (await next).release()).toBe(true);
      const several = await holder.acquire(more);
      expect((await other.list({ prefix: 'key:' })).locks.map((each) => each.key).sort()).toEqual([...more].sort());
      expect(logged).toEqual([]);
      expect(await other.forceRelease(more[0]!)).toBe(true);
      expect(await several.release()).toBe(false);
    },
  );
});
