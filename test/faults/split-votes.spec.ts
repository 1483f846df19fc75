import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LockManager } from '../../lib/lock-manager.js';
import { connectRedis } from '../../lib/stores/redis/redis.store.js';
import { RedisServer, startRedisNodes, stopAll } from '../support/redis-server.js';

const PODS = 20;
const TICKS = 20;

describe('Many pods that ask in the same moment', () => {
  let nodes: RedisServer[] = [];
  let pods: LockManager[] = [];

  beforeAll(async () => {
    nodes = await startRedisNodes(3);
    pods = await Promise.all(
      Array.from({ length: PODS }, async () => {
        const urls = nodes.map(({ url }) => url);
        return new LockManager(await connectRedis({ nodes: urls, ttlMs: 30_000, quarantine: 0, nodeTimeout: '2s' }));
      }),
    );
  });

  afterAll(async () => {
    await Promise.all(pods.map((pod) => pod.shutdown(1000)));
    await stopAll(nodes);
  });

  const tick = async (key: string): Promise<number> => {
    const locks = await Promise.all(pods.map((pod) => pod.tryAcquire(key, { ttl: 30 })));
    return locks.filter((lock) => lock !== null).length;
  };

  it('let exactly one in, although none of them waits and their votes split', async () => {
    const winners: number[] = [];
    for (let n = 0; n < TICKS; n++) winners.push(await tick(`all-nodes:${n}`));
    expect(winners).toEqual(Array(TICKS).fill(1));
  });

  it('let exactly one in while a node is dead and two votes have to agree', async () => {
    await nodes[2]!.kill();
    const winners: number[] = [];
    for (let n = 0; n < TICKS; n++) winners.push(await tick(`two-nodes:${n}`));
    expect(winners).toEqual(Array(TICKS).fill(1));
  });
});
