import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis5';
import { Cluster as ValkeyCluster } from 'iovalkey';
import type { RedisClient, RedisNodeEntry } from '../../lib/stores/redis/redis-client.js';
import { connectRedis } from '../../lib/stores/redis/redis.store.js';
import { keepsContract } from '../support/contract-at-once.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { RedisSentinel } from '../support/redis-sentinel.js';
import { RedisServer } from '../support/redis-server.js';

interface Stoppable {
  stop(): Promise<void>;
}

/** Servers, and the ways in which each is given as `nodes`. */
type Topology = () => Promise<{ servers: Stoppable[]; nodes: () => RedisNodeEntry[] }>;

const clients: { disconnect(): void }[] = [];

function kept<C extends { disconnect(): void }>(client: C): C {
  clients.push(client);
  return client;
}

const TOPOLOGIES: [string, Topology][] = [
  [
    'a primary and a replica behind a Sentinel',
    async () => {
      const sentinel = await RedisSentinel.start();
      return { servers: [sentinel], nodes: () => [sentinel.options] };
    },
  ],
  [
    'three Clusters as three nodes',
    async () => {
      const clusters = await Promise.all([RedisCluster.start(), RedisCluster.start(), RedisCluster.start()]);
      return { servers: clusters, nodes: () => clusters.map(({ addresses }) => kept(new Cluster(addresses))) };
    },
  ],
  [
    'a Cluster, a Sentinel and a lone Redis as three nodes',
    async () => {
      const [cluster, sentinel, lone] = await Promise.all([
        RedisCluster.start(),
        RedisSentinel.start(),
        RedisServer.start(),
      ]);
      const nodes = () => [kept(new Cluster(cluster.addresses)), sentinel.options, lone.url];
      return { servers: [cluster, sentinel, lone], nodes };
    },
  ],
];

describe.each(TOPOLOGIES)('%s', (_name, start) => {
  let topology: Awaited<ReturnType<Topology>> | undefined;
  let nodes: RedisNodeEntry[];

  beforeAll(async () => {
    topology = await start();
    nodes = topology.nodes();
  }, 60_000);
  afterAll(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    await Promise.all((topology?.servers ?? []).map((server) => server.stop()));
  });

  it('keeps the contract of the stores', () => {
    return keepsContract(() => connectRedis({ nodes, ttlMs: 30_000, nodeTimeout: '5s', quarantine: 0 }));
  }, 60_000);
});

describe('A Cluster of six servers as one node', () => {
  let cluster: RedisCluster;
  beforeAll(async () => void (cluster = await RedisCluster.start({ replicas: true })), 60_000);
  afterAll(() => cluster?.stop());

  describe.each<[string, (cluster: RedisCluster) => RedisClient & { disconnect(): void }]>([
    ['ioredis 6', ({ addresses }) => new Cluster(addresses)],
    ['ioredis 5', ({ addresses }) => new Cluster5(addresses)],
    ['iovalkey', ({ addresses }) => new ValkeyCluster(addresses)],
  ])('by %s', (_name, connect) => {
    let client: RedisClient | undefined;
    beforeAll(() => void (client = connect(cluster)));
    afterAll(() => client?.disconnect());

    it('keeps the contract of the stores', () => {
      return keepsContract(() => connectRedis({ nodes: [client!], ttlMs: 30_000, nodeTimeout: '5s' }));
    }, 60_000);
  });
});

describe('RESP', () => {
  let server: RedisServer;
  beforeAll(async () => void (server = await RedisServer.start()));
  afterAll(() => server?.stop());

  describe.each<[string, { protocol: 2 | 3; replyMapping?: 'resp3'; stringNumbers?: boolean }]>([
    ['2', { protocol: 2 }],
    [
      '3, with replies in its own shapes and numbers as text',
      { protocol: 3, replyMapping: 'resp3', stringNumbers: true },
    ],
  ])('%s', (_name, options) => {
    const entry = (): RedisNodeEntry => ({ host: '127.0.0.1', port: server.port, ...options });

    it('keeps the contract of the stores', () => {
      return keepsContract(() => connectRedis({ nodes: [entry()], ttlMs: 30_000, nodeTimeout: '5s' }));
    }, 60_000);

    it('is what the connection speaks', async () => {
      const redis = new Redis({ ...(entry() as object), connectionName: 'speaker' });
      const list = (await redis.call('CLIENT', 'LIST')) as string;
      redis.disconnect();
      expect(list.split('\n').find((line) => line.includes('name=speaker'))).toContain(` resp=${options.protocol}`);
    });
  });
});
