import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis as Redis5 } from 'ioredis5';
import { Redis as Valkey } from 'iovalkey';
import { MemoryStore } from '../../lib/stores/memory.store.js';
import type { RedisClient, RedisNodeEntry } from '../../lib/stores/redis/redis-client.js';
import { connectRedis } from '../../lib/stores/redis/redis.store.js';
import { defineStoreContract, ManualRuntime } from '../../lib/testing/index.js';
import { startRedisNodes, stopAll, type RedisServer } from '../support/redis-server.js';

/** The subject is the answers, not how fast or how soon they come. */
function connectTo(nodes: readonly RedisNodeEntry[]) {
  return connectRedis({ nodes, ttlMs: 30_000, nodeTimeout: '5s', quarantine: 0 });
}

describe('MemoryStore', () => {
  const runtime = new ManualRuntime();
  defineStoreContract({
    test: it,
    createStore: () => new MemoryStore(runtime),
    elapse: (ms) => runtime.advance(ms),
  });
});

describe.each([1, 3, 5])('Redis on our own connections, %i node(s)', (count) => {
  let servers: RedisServer[] | undefined;
  beforeAll(async () => void (servers = await startRedisNodes(count)));
  afterAll(() => stopAll(servers));

  defineStoreContract({ test: it, createStore: () => connectTo(servers!.map(({ url }) => url)) });
});

describe.each<[string, (port: number) => RedisClient]>([
  ['ioredis 5', (port) => new Redis5(port, '127.0.0.1')],
  ['iovalkey', (port) => new Valkey(port, '127.0.0.1')],
])("a user's own client, %s", (_name, connect) => {
  let servers: RedisServer[] = [];
  let client: RedisClient | undefined;
  beforeAll(async () => {
    servers = await startRedisNodes(1);
    client = connect(servers[0]!.port);
  });
  afterAll(async () => {
    client?.disconnect();
    await stopAll(servers);
  });

  defineStoreContract({ test: it, createStore: () => connectTo([client!]) });

  it('stays open when the store is closed', async () => {
    const store = await connectTo([client!]);
    await store.close?.();
    expect(client!.status).toBe('ready');
  });
});
