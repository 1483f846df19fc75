import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockBusyError } from '../../lib/errors.js';
import type { RedisNodeEntry } from '../../lib/stores/redis/redis-client.js';
import { Lab, lockName } from '../faults/lab.js';
import { eventually } from '../support/eventually.js';
import { RedisSentinel } from '../support/redis-sentinel.js';

const PASSWORD = 'of-the-servers';
const lab = new Lab();
let sentinel: RedisSentinel;

// For each test another one: a primary that was killed would take a while to come back as a replica.
beforeEach(async () => {
  sentinel = await RedisSentinel.start({ password: PASSWORD });
}, 60_000);
afterEach(async () => {
  await lab.tidy();
  await sentinel?.stop();
});

const entry = (): RedisNodeEntry => ({ ...sentinel.options, password: PASSWORD });
const client = (): RedisNodeEntry => lab.keep(new Redis({ ...sentinel.options, password: PASSWORD }));

async function ask<T>(port: number, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(port, '127.0.0.1', { password: PASSWORD });
  return work(redis).finally(() => redis.disconnect());
}

describe('Behind a Sentinel', () => {
  it.each([
    ['a connection of our own', entry],
    ['a client of yours', client],
  ])(
    'a holder keeps its lock, and nobody else gets it, when the primary dies: %s',
    async (_, node) => {
      const [holder, other] = [await lab.pod({ nodes: [node()] }), await lab.pod({ nodes: [node()] })];
      const key = lab.key();
      await using lock = await holder.acquire(key, { ttl: '20s' });
      const before = await sentinel.primary();
      const owner = await ask(before.port, (redis) => redis.get(lockName(key)));
      await sentinel.inStep();
      await before.kill();
      const after = await sentinel.movedFrom(before);
      await eventually(() => lock.renew());
      expect(lock.held).toBe(true);
      await eventually(() => expect(other.acquire(key)).rejects.toBeInstanceOf(LockBusyError));
      expect(await ask(after.port, (redis) => redis.get(lockName(key)))).toBe(owner);
      await lock.release();
      await using next = await eventually(() => other.acquire(key));
      expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    },
    120_000,
  );

  it('a holder is told when the new primary does not know its lock, and the next token is higher all the same', async () => {
    const [holder, other] = [await lab.pod({ nodes: [entry()] }), await lab.pod({ nodes: [entry()] })];
    const key = lab.key();
    const before = await sentinel.primary();
    const replica = sentinel.servers.find((server) => server !== before)!;
    // It misses what the primary takes from now on.
    replica.freeze();
    await ask(before.port, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'replica'));
    const lock = await holder.acquire(key, { ttl: '20s' });
    await before.kill();
    replica.thaw();
    await sentinel.movedFrom(before);
    await using next = await eventually(() => other.acquire(key));
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    await eventually(() => expect(lock.signal.aborted).toBe(true));
    expect(lock.held).toBe(false);
    expect(next.held).toBe(true);
  }, 120_000);

  it.each([
    ['connections of our own', entry],
    ['clients of yours', client],
  ])(
    'who waits is woken by the new primary after an operator changed it: %s',
    async (_, node) => {
      const [holder, waiter] = [await lab.pod({ nodes: [node()] }), await lab.pod({ nodes: [node()] })];
      const key = lab.key();
      const lock = await holder.acquire(key, { ttl: '60s' });
      const next = waiter.acquire(key, { wait: '100s' });
      next.catch(() => undefined);
      const before = await sentinel.primary();
      const owner = await ask(before.port, (redis) => redis.get(lockName(key)));
      await sentinel.failOver();
      const { port } = await sentinel.primary();
      // The old primary stays one for a while, and serves whoever is still connected to it.
      await eventually(
        async () => {
          expect(await ask(port, (redis) => redis.pubsub('CHANNELS', 'lock:turn:*'))).toHaveLength(1);
          await ask(port, (redis) => redis.config('RESETSTAT'));
          await lock.renew();
          expect(await ask(port, (redis) => redis.info('commandstats'))).toMatch(/cmdstat_pexpire:calls=[12],/);
        },
        { timeoutMs: 60_000, everyMs: 100 },
      );
      await eventually(async () =>
        expect(await ask(port, (redis) => redis.get(`${lockName(key)}:free`))).toMatch(/\S+/),
      );
      await lock.release();
      // Handed on by the release itself, which it is only to who hears of it.
      expect(await ask(port, (redis) => redis.get(lockName(key)))).not.toBe(owner);
      await using taken = await next;
      expect(taken.fencingToken).toBeGreaterThan(lock.fencingToken);
    },
    120_000,
  );

  it('leaves no connection behind, neither to the servers nor to the Sentinel', async () => {
    const [holder, waiter] = [await lab.pod({ nodes: [entry()] }), await lab.pod({ nodes: [entry()] })];
    const key = lab.key();
    const lock = await holder.acquire(key);
    const next = waiter.acquire(key, { wait: '20s' });
    await lock.release();
    await (await next).release();
    await lab.tidy();
    const { port } = await sentinel.primary();
    await eventually(async () => {
      const list = String(await ask(port, (redis) => redis.call('CLIENT', 'LIST')));
      expect(list).not.toContain('name=nestjs-fenced-lock');
      const asked = new Redis(sentinel.port, '127.0.0.1');
      const seen = String(await asked.call('CLIENT', 'LIST').finally(() => asked.disconnect()));
      expect(seen.trim().split('\n')).toHaveLength(1);
    });
  });

  it('is named by its name in errors, since its address changes', async () => {
    const pod = await lab.pod({ nodes: [client()] });
    const key = lab.key();
    const primary = await sentinel.primary();
    await ask(primary.port, (redis) => redis.config('SET', 'maxmemory', '1'));
    try {
      await expect(pod.acquire(key)).rejects.toMatchObject({
        causes: [{ node: `locks of sentinel 127.0.0.1:${sentinel.port}`, reason: expect.stringContaining('OOM') }],
      });
    } finally {
      await ask(primary.port, (redis) => redis.config('SET', 'maxmemory', '0'));
    }
  });
});
