import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { LockOptions } from '../../../lib/lock.options.js';
import { LockManager } from '../../../lib/lock-manager.js';
import { freeChannel } from '../../../lib/stores/redis/key-names.js';
import { connectRedis } from '../../../lib/stores/redis/redis.store.js';
import { eventually } from '../../support/eventually.js';
import { expectNoTimers, TimerWatch } from '../../support/leaks.js';
import { startRedisNodes, stopAll, type RedisServer } from '../../support/redis-server.js';

const WAITERS = 500;
const MB = 2 ** 20;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe.each([1, 3])('Of 500 who wait for a key of %i node(s)', (count) => {
  let servers: RedisServer[] = [];
  const open: LockManager[] = [];
  let keys = 0;
  const freshKey = (): string => `key:${++keys}`;

  beforeAll(async () => void (servers = await startRedisNodes(count)));
  afterEach(async () => void (await Promise.all(open.splice(0).map(async (pod) => pod.shutdown(2000)))));
  afterAll(() => stopAll(servers));

  async function pod(): Promise<LockManager> {
    const nodes = servers.map(({ url }) => url);
    const made = new LockManager(await connectRedis({ nodes, ttlMs: 30_000, nodeTimeout: '10s', quarantine: 0 }));
    open.push(made);
    return made;
  }

  async function ask<T>(question: (redis: Redis) => Promise<T>): Promise<T[]> {
    return Promise.all(
      servers.map(async ({ port }) => {
        const redis = new Redis(port, '127.0.0.1');
        return question(redis).finally(() => redis.disconnect());
      }),
    );
  }

  async function scriptCalls(): Promise<number> {
    const infos = await ask(async (redis) => redis.info('commandstats'));
    return Math.max(...infos.map((info) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0)));
  }

  /** Resolves once whoever waits for the key of this pod is known at the nodes. */
  async function known(key: string): Promise<void> {
    await eventually(async () => {
      const seen = await ask(async (redis) => {
        const [, listeners] = (await redis.pubsub('NUMSUB', freeChannel(key))) as [string, number];
        return Number(listeners) > 0 || ((await redis.get(freeChannel(key))) ?? '') !== '';
      });
      expect(seen).toEqual(servers.map(() => true));
    });
  }

  it('each gets it, in order, for as few commands as of two, and Node warns of nothing', async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warned);
    const controller = new AbortController();
    const perGrant: number[] = [];
    for (const waiters of [2, WAITERS]) {
      const [holding, waiting] = [await pod(), await pod()];
      const key = freshKey();
      const holder = await holding.acquire(key);
      const order: number[] = [];
      const options: LockOptions = { wait: '60s', signal: controller.signal };
      const all = Array.from({ length: waiters }, (_, index) =>
        waiting.withLock(key, options, () => void order.push(index)),
      );
      await known(key);
      const before = await scriptCalls();
      await holder.release();
      await Promise.all(all);
      perGrant.push((await scriptCalls()) - before);
      expect(order).toEqual(all.map((_, index) => index));
      perGrant.push(perGrant.pop()! / waiters);
    }
    process.off('warning', warned);
    expect(warnings).toEqual([]);
    const [ofTwo, ofMany] = perGrant as [number, number];
    // A release and an attempt each, at most, and on a busy machine a look in between.
    expect(ofMany).toBeLessThan(2.5);
    expect(ofMany).toBeLessThanOrEqual(ofTwo + 0.5);
  }, 60_000);

  it('none leaves anything behind that is aborted: no memory, timer, listener, subscription or key', async () => {
    const [holding, waiting] = [await pod(), await pod()];
    const key = freshKey();
    const holder = await holding.acquire(key);
    const timers = new TimerWatch();
    const abortedWaits = async (): Promise<void> => {
      const shared = new AbortController();
      const own = Array.from({ length: WAITERS / 2 }, () => new AbortController());
      const signals = [...own, ...own.map(() => shared)].map(({ signal }) => signal);
      const all = signals.map((signal) => waiting.acquire(key, { wait: '60s', signal }));
      const ends = Promise.allSettled(all);
      await known(key);
      expect(getEventListeners(shared.signal, 'abort')).toHaveLength(1);
      for (const controller of [shared, ...own]) controller.abort(new Error('enough'));
      for (const end of await ends) expect(end).toMatchObject({ reason: { message: 'enough' } });
      expect(signals.flatMap((signal) => getEventListeners(signal, 'abort'))).toEqual([]);
    };
    try {
      for (let round = 0; round < 5; round++) await abortedWaits();
      await expectNoTimers(timers, 'wait-queue');
    } finally {
      timers.stop();
    }
    const used = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = used();
    for (let round = 0; round < 20; round++) await abortedWaits();
    // 10,000 waiters who left 200 bytes each would be seen.
    expect(used() - before).toBeLessThan(2 * MB);
    await holder.release();
    await eventually(async () => {
      expect(await ask(async (redis) => redis.keys('*'))).toEqual(servers.map(() => expect.arrayContaining([])));
      const left = (await ask(async (redis) => redis.keys('*'))).flat().filter((name) => name.includes(`{${key}}`));
      expect(new Set(left)).toEqual(new Set([`lock:{${key}}:fence`]));
      const listeners = await ask(async (redis) => redis.pubsub('NUMSUB', freeChannel(key)));
      expect(listeners.map((answer) => Number((answer as [string, number])[1]))).toEqual(servers.map(() => 0));
    });
  }, 60_000);
});
