import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey';
import { Channels } from '../../lib/stores/redis/channels.js';
import { connect } from '../../lib/stores/redis/connection.js';
import type { RedisClient, RedisNodeEntry } from '../../lib/stores/redis/redis-client.js';
import { Lab, lockName } from '../faults/lab.js';
import { eventually } from '../support/eventually.js';
import { LEAST_RULES, setUser } from '../support/least-user.js';
import { RedisCluster } from '../support/redis-cluster.js';
import type { RedisServer } from '../support/redis-server.js';

const lab = new Lab();
let server: RedisServer;
let cluster: RedisCluster;

beforeAll(async () => {
  [[server], cluster] = (await Promise.all([lab.start(1), RedisCluster.start()])) as [[RedisServer], RedisCluster];
}, 60_000);
afterEach(() => lab.tidy());
afterAll(async () => {
  await Promise.all([lab.end(), cluster?.stop()]);
});

/** The connection that a client's duplicate makes to listen. */
async function listener(entry: RedisNodeEntry): Promise<{ of: RedisClient; made: RedisClient; args: unknown[] }> {
  const { client } = await connect(entry, 0);
  lab.keep(client);
  let found: { made: RedisClient; args: unknown[] } | undefined;
  const duplicate = client.duplicate!.bind(client);
  client.duplicate = (...args: unknown[]) => {
    const made = duplicate(...args) as RedisClient;
    found = { made, args };
    return made;
  };
  const channels = new Channels(client);
  channels.open('c', () => undefined);
  channels.close();
  return { of: client, ...found! };
}

describe('The connection that listens', () => {
  // A broken connection keeps the process alive for as long as it may take to close.
  const nowhere = { port: 1, lazyConnect: true, retryStrategy: () => null, disconnectTimeout: 10 };
  const lone = {
    ...{ username: 'locks', password: 'secret', db: 2, family: 4, connectionName: 'mine', keyPrefix: 'app:' },
    ...{ tls: { ca: 'a certificate', servername: 'redis.internal' }, connectTimeout: 1234, enableReadyCheck: false },
  };
  const sentinel = {
    ...{ sentinels: [{ host: '127.0.0.1', port: 1 }], name: 'locks', role: 'master' as const },
    ...{ sentinelUsername: 'looker', sentinelPassword: 'hidden', sentinelTLS: { ca: 'another' } },
    ...{ enableTLSForSentinelMode: true, natMap: {}, sentinelRetryStrategy: () => null },
  };

  it.each<[string, () => RedisNodeEntry]>([
    ['options', () => ({ ...nowhere, ...lone, protocol: 2 })],
    ['a client of ioredis 6', () => new Redis({ ...nowhere, ...lone })],
    ['a client of ioredis 5', () => new Redis5({ ...nowhere, ...lone })],
    ['a client of iovalkey', () => new Valkey({ ...nowhere, ...lone })],
    ['options for Sentinels', () => ({ ...nowhere, ...lone, ...sentinel })],
    ['a client for Sentinels', () => new Redis({ ...nowhere, ...lone, ...sentinel })],
  ])('has all settings of %s', async (_, entry) => {
    const { of, made } = await listener(entry());
    expect(made.options).toMatchObject({ ...of.options, autoResubscribe: false, lazyConnect: false });
    expect(made.options).toMatchObject(lone);
  });

  const start = [{ host: '127.0.0.1', port: 1 }];
  const clustered = {
    redisOptions: { ...lone, connectTimeout: 100, disconnectTimeout: 10 },
    keyPrefix: 'app:',
    natMap: {},
    lazyConnect: true,
    clusterRetryStrategy: () => null,
  };
  it.each<[string, () => RedisNodeEntry]>([
    ['ioredis 6', () => new Cluster(start, clustered)],
    ['ioredis 5', () => new Cluster5(start, clustered)],
    ['iovalkey', () => new ValkeyCluster(start, clustered)],
  ])('has all settings of a Cluster of %s, and begins where it does', async (_, entry) => {
    const { of, made } = await listener(entry());
    expect(made.options).toMatchObject({ ...of.options, autoResubscribe: false, lazyConnect: false });
    expect(made.options).toMatchObject({ redisOptions: clustered.redisOptions });
    expect((made as unknown as { startupNodes: unknown }).startupNodes).toEqual(start);
  });

  it.each([2, 3])('logs in, names itself, and speaks RESP%i as the one it is for', async (protocol) => {
    const user = await setUser(server, LEAST_RULES.concat('+select'));
    const node = { host: '127.0.0.1', port: server.port, ...user, db: 3, connectionName: 'mine', protocol };
    const [holder, waiter] = [await lab.pod({ nodes: [node] }), await lab.pod({ nodes: [node] })];
    const key = lab.key();
    const lock = await holder.acquire(key);
    const next = waiter.acquire(key, { wait: '20s' });
    const admin = lab.keep(new Redis(server.port, '127.0.0.1'));
    const line = lab.keep(new Redis(server.port, '127.0.0.1', { db: 3 }));
    await eventually(async () => expect(await line.get(`${lockName(key)}:free`)).toMatch(/\S/));
    const listening = String(await admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub'))
      .trim()
      .split('\n');
    expect(listening).toHaveLength(1);
    for (const part of ['name=mine', 'db=3', 'user=locks', `resp=${protocol}`]) expect(listening[0]).toContain(part);
    expect(await lock.release()).toBe(true);
    expect(await (await next).release()).toBe(true);
  });
});

describe('A waiter on a Cluster', () => {
  it('is woken again after the server at which it listens has gone', async () => {
    const small = await RedisCluster.start({ replicas: true });
    try {
      const node = (): Cluster => lab.keep(new Cluster(small.addresses, { redisOptions: { disconnectTimeout: 10 } }));
      const [holder, waiter] = [await lab.pod({ nodes: [node()] }), await lab.pod({ nodes: [node()] })];
      const listens = async (): Promise<RedisServer | undefined> => {
        for (const each of small.servers.filter(({ running }) => running)) {
          const admin = new Redis(each.port, '127.0.0.1');
          const channels = (await admin
            .pubsub('CHANNELS', 'lock:turn:*')
            .finally(() => admin.disconnect())) as string[];
          if (channels.length > 0) return each;
        }
        return undefined;
      };
      const first = lab.key();
      await using _ = await holder.acquire(first);
      const waiting = waiter.acquire(first, { wait: '60s' });
      waiting.catch(() => undefined); // until the pod goes
      const listenedAt = await eventually(async () => {
        const found = await listens();
        expect(found).toBeDefined();
        return found!;
      });
      await listenedAt.kill();
      await eventually(async () => expect(await listens()).toBeDefined());
    } finally {
      await lab.tidy();
      await small.stop();
    }
  }, 60_000);
});
