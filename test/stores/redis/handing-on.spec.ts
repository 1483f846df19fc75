import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Lock } from '../../../lib/lock.js';
import { LockManager } from '../../../lib/lock-manager.js';
import { systemRuntime, type Runtime } from '../../../lib/runtime.js';
import { freeChannel } from '../../../lib/stores/redis/key-names.js';
import { TURN_MS } from '../../../lib/stores/redis/node-lua.js';
import type { RedisNodeEntry } from '../../../lib/stores/redis/redis-client.js';
import { connectRedis } from '../../../lib/stores/redis/redis.store.js';
import { eventually } from '../../support/eventually.js';
import { RedisServer, stopAll } from '../../support/redis-server.js';

const LONG_MS = 600_000;
/** A waiter that is not woken sleeps on: then it is the wake-up that a test sees. */
const sleepy: Runtime = {
  ...systemRuntime,
  timers: {
    start: (callback, delayMs, keepAlive) =>
      systemRuntime.timers.start(callback, keepAlive && delayMs <= 1000 ? LONG_MS : delayMs, keepAlive),
  },
};

/** Whose clock stands still: no turn is too old to be taken. */
const still: Runtime = { ...systemRuntime, clock: { monotonic: () => 1000, wall: () => 1_900_000_000_000 } };

/** Hears nothing of what is published. */
class DeafRedis extends Redis {
  override duplicate(...args: Parameters<Redis['duplicate']>): Redis {
    const deaf = super.duplicate(...args);
    const { on } = deaf;
    deaf.on = (event: string | symbol, listener: (...args: any[]) => void) =>
      event === 'message' ? deaf : on.call(deaf, event, listener);
    return deaf;
  }
}

describe('A key of a lone Redis', () => {
  let server: RedisServer | undefined;
  let redis: Redis;
  const pods: LockManager[] = [];
  const clients: Redis[] = [];
  let keys = 0;
  const freshKey = (): string => `key:${++keys}`;
  const nameOf = (key: string): string => `lock:{${key}}`;

  beforeAll(async () => {
    server = await RedisServer.start();
    redis = new Redis(server.port, '127.0.0.1');
  });
  afterEach(async () => {
    await Promise.all(pods.splice(0).map(async (pod) => pod.shutdown(2000)));
    for (const client of clients.splice(0)) client.disconnect();
  });
  afterAll(async () => {
    redis?.disconnect();
    await stopAll(server);
  });

  async function pod(node: RedisNodeEntry = server!.url, runtime?: Runtime): Promise<LockManager> {
    const made = new LockManager(await connectRedis({ nodes: [node], ttlMs: 30_000, nodeTimeout: '10s' }), {}, runtime);
    pods.push(made);
    return made;
  }

  const line = async (key: string): Promise<string[]> =>
    ((await redis.get(freeChannel(key))) ?? '').split(' ').filter(Boolean);

  /** Waits in line for the key; resolves once it stands there. */
  async function joins(of: LockManager, key: string, options = {}): Promise<{ readonly lock: Promise<Lock> }> {
    const before = (await line(key)).length;
    const lock = of.acquire(key, { wait: '60s', ...options });
    lock.catch(() => undefined);
    await eventually(async () => expect(await line(key)).toHaveLength(before + 1));
    return { lock };
  }

  /** A lock by a turn: on a machine that is held up it may take some of them until one need not be asked for. */
  async function handedOn(options = {}): Promise<{ readonly key: string; readonly lock: Lock }> {
    for (;;) {
      const key = freshKey();
      const holder = await (await pod()).acquire(key);
      const next = await joins(await pod(), key, { ...options, ttl: '60s' });
      await holder.release();
      const lock = await next.lock;
      if (lock.remaining <= TURN_MS) return { key, lock };
      await lock.release();
    }
  }

  async function scriptCalls(): Promise<number> {
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
  }

  it('is handed to who is first in line by the release alone: nobody has to ask', async () => {
    const key = freshKey();
    let calls = 0;
    // On a machine that is held up they cannot know how much of their turn is left, and do ask.
    for (let rounds = 0; rounds < 10 && calls !== 1; rounds++) {
      const holder = await (await pod()).acquire(key);
      const { lock: next } = await joins(await pod(server!.url, sleepy), key);
      const before = await scriptCalls();
      await holder.release();
      const lock = await next;
      calls = (await scriptCalls()) - before;
      if (calls === 1) expect(lock.fencingToken).toBe(holder.fencingToken + 1);
      expect(await redis.get(`${nameOf(key)}:fence`)).toBe(String(lock.fencingToken));
      // As long as after any grant, before the next renewal or attempt says so again.
      expect(await redis.pttl(`${nameOf(key)}:fence`)).toBeGreaterThan(80_000_000);
      await lock.release();
      expect(await redis.get(nameOf(key))).toBeNull();
    }
    expect(calls).toBe(1);
  });

  it.each([true, false])(
    'that was handed on is held for its ttl, and not for longer (autoRenew: %p)',
    async (autoRenew) => {
      const { key, lock } = await handedOn({ autoRenew });
      const owner = await redis.get(nameOf(key));
      // The store is told that it lives; from then on the lease is as long as was asked for.
      await eventually(async () => expect(await redis.pttl(nameOf(key))).toBeGreaterThan(30_000));
      expect(await redis.get(nameOf(key))).toBe(owner);
      await eventually(() => expect(lock.remaining).toBeGreaterThan(30_000));
      expect(lock.remaining).toBeLessThan(60_000);
      expect(await lock.release()).toBe(true);
    },
  );

  it('that was handed on is lost if it is taken before the store was told that its holder lives', async () => {
    const { key, lock } = await handedOn();
    await redis.set(nameOf(key), 'someone else');
    await eventually(() => expect(lock.held).toBe(false));
    expect(lock.loss).toMatchObject({ reason: 'taken' });
  });

  it('is taken by whose turn it is, or else goes to the next attempt that is made in their place', async () => {
    const store = await connectRedis({ nodes: [server!.url], ttlMs: 30_000, nodeTimeout: '10s' }, still);
    try {
      await new Promise<void>((resolve) => store.onFree(freshKey(), resolve, 'p/any'));
      for (const isTaken of [true, false]) {
        const key = freshKey();
        let woken = 0;
        const place = { stands: true, wake: () => void woken++ };
        const first = (await store.acquire(key, 'p/first', 30_000)) as { fencingToken: number };
        expect(await store.acquire(key, 'p/second', 30_000, place)).toMatchObject({ acquired: false, inLine: true });
        await store.release(key, 'p/first');
        await eventually(() => expect(woken).toBe(1));
        expect(await redis.get(nameOf(key))).toBe('p/second');
        const token = first.fencingToken + 1;
        if (isTaken) expect(store.take!(key, 'p/second')).toMatchObject({ fencingToken: token, leaseMs: TURN_MS });
        else {
          const asked = await store.acquire(key, 'p/third', 30_000, { ...place, after: 'p/second' });
          expect(asked.acquired && asked.fencingToken).toBeGreaterThan(token);
          expect(await redis.get(nameOf(key))).toBe('p/third');
        }
        expect(store.take!(key, 'p/second')).toBeUndefined();
      }
    } finally {
      await store.close();
    }
  });

  it('is no longer waited for by an attempt that was granted, or left', async () => {
    const store = await connectRedis({ nodes: [server!.url], ttlMs: 30_000, nodeTimeout: '10s' }, still);
    try {
      const key = freshKey();
      await new Promise<void>((resolve) => store.onFree(key, resolve, 'p/any'));
      let woken = 0;
      const place = { stands: true, wake: () => void woken++ };
      expect(await store.acquire(key, 'p/granted', 30_000, place)).toMatchObject({ acquired: true });
      await store.acquire(key, 'p/left', 30_000, place);
      store.leave!(key, 'p/left');
      await store.acquire(key, 'p/waiting', 30_000, place);
      for (const owner of ['granted', 'left', 'waiting']) await redis.publish('lock:turn:p', `p/${owner} 5 elsewhere`);
      await eventually(() => expect(woken).toBe(1));
      expect(['granted', 'left'].map((owner) => store.take!(key, `p/${owner}`))).toEqual([undefined, undefined]);
      expect(store.take!(key, 'p/waiting')).toMatchObject({ fencingToken: 5 });
    } finally {
      await store.close();
    }
  });

  it('passes by those whose connection has ended', async () => {
    const key = freshKey();
    const holder = await (await pod()).acquire(key);
    await redis.set(freeChannel(key), 'dead/1/5000 dead/2/5000');
    const next = await joins(await pod(server!.url, sleepy), key);
    await holder.release();
    expect(await (await next.lock).release()).toBe(true);
  });

  it('is kept for one who hears and does nothing for no longer than a moment, and then goes to the next', async () => {
    const key = freshKey();
    const hung = redis.duplicate();
    clients.push(hung);
    const told = new Promise<string>((resolve) => hung.on('message', (_channel, message) => resolve(message)));
    await hung.subscribe('lock:turn:hung');
    const holder = await (await pod()).acquire(key);
    await redis.set(freeChannel(key), 'hung/1/700');
    const next = await joins(await pod(), key);
    await holder.release();
    expect(await told).toBe(`hung/1 ${holder.fencingToken + 1} ${key}`);
    expect(await redis.get(nameOf(key))).toBe('hung/1');
    expect(await redis.pttl(nameOf(key))).toBeLessThanOrEqual(700);
    expect((await next.lock).fencingToken).toBeGreaterThan(holder.fencingToken + 1);
  });

  it('is handed on where a client of yours puts something before its keys, and turns are told apart by that', async () => {
    const key = freshKey();
    const prefixed = (keyPrefix: string): Redis => {
      const client = new Redis(server!.port, '127.0.0.1', { keyPrefix });
      clients.push(client);
      return client;
    };
    const holder = await (await pod(prefixed('lock:{app}:'))).acquire(key);
    const next = (await pod(prefixed('lock:{app}:'), sleepy)).acquire(key, { wait: '60s' });
    await eventually(async () => expect(await redis.get(`lock:{app}:${freeChannel(key)}`)).toMatch(/\/\d+$/));
    const channels = (await redis.pubsub('CHANNELS', 'lock:{app}:lock:turn:*')) as string[];
    expect(channels).toHaveLength(1);
    await holder.release();
    expect(await (await next).release()).toBe(true);
  });

  it('is passed on at once by a process that is told of a turn that nobody there waits for any more', async () => {
    // Such as one whose end the store was not told of, or whose answer got lost.
    const key = `${freshKey()} {with} 100 % of everything`;
    const other = freshKey();
    const holder = await (await pod()).acquire(key);
    const first = await pod();
    await (await pod()).acquire(other);
    await joins(first, other);
    const [process] = (await line(other))[0]!.split('/');
    await redis.set(freeChannel(key), `${process}/forgotten/600000`);
    const next = await joins(await pod(server!.url, sleepy), key);
    await holder.release();
    expect(await (await next.lock).release()).toBe(true);
  });

  it('is asked for by whose turn it is where the last token is gone, and tokens rise all the same', async () => {
    const key = freshKey();
    const holder = await (await pod()).acquire(key);
    const next = await joins(await pod(server!.url, sleepy), key);
    await redis.del(`${nameOf(key)}:fence`);
    await holder.release();
    const lock = await next.lock;
    expect(lock.fencingToken).toBeGreaterThan(holder.fencingToken);
    await lock.release();
  });

  it('comes to its next holder when the connections that listen are killed as it is given back', async () => {
    const key = freshKey();
    const holder = await (await pod()).acquire(key);
    const next = await joins(await pod(server!.url, sleepy), key);
    await Promise.all([redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub'), holder.release()]);
    expect(await (await next.lock).release()).toBe(true);
  });

  it('comes to its next holder when what is published is lost', async () => {
    const key = freshKey();
    const deaf = new DeafRedis(server!.port, '127.0.0.1');
    clients.push(deaf);
    const holder = await (await pod()).acquire(key);
    const next = await joins(await pod(deaf), key);
    await holder.release();
    expect(await (await next.lock).release()).toBe(true);
  });

  it('goes to nobody else meanwhile: its turn waits for who has missed it', async () => {
    const key = freshKey();
    const deaf = new DeafRedis(server!.port, '127.0.0.1');
    clients.push(deaf);
    const holder = await (await pod()).acquire(key);
    const impatient = { ...systemRuntime, random: { ...systemRuntime.random, fraction: () => 0 } };
    const first = await joins(await pod(deaf, impatient), key);
    const second = await joins(await pod(), key);
    const order: string[] = [];
    const passing = [first, second].map(async ({ lock }, index) => {
      const held = await lock;
      order.push(['first', 'second'][index]!);
      await held.release();
    });
    await holder.release();
    await Promise.all(passing);
    expect(order).toEqual(['first', 'second']);
  });

  it('means to a plain holder what it always did', async () => {
    const key = freshKey();
    const plainly = (): Promise<unknown> => redis.set(nameOf(key), 'a plain holder', 'PX', 4000, 'NX');
    const holder = await (await pod()).acquire(key);
    const next = await joins(await pod(), key);
    const pair = [await pod(), await pod()];
    expect(await plainly()).toBeNull();
    await holder.release();
    // Handed on, it is as taken as before.
    expect(await plainly()).toBeNull();
    await (await next.lock).release();
    expect(await redis.type(nameOf(key))).toBe('none');
    expect(await plainly()).toBe('OK');
    // Ours wait for the end of the plain holder's lease, and then enter in order.
    const waiting = [await joins(pair[0]!, key), await joins(pair[1]!, key)];
    expect(await redis.get(nameOf(key))).toBe('a plain holder');
    const order: number[] = [];
    await Promise.all(
      waiting.map(async ({ lock }, index) => {
        const held = await lock;
        order.push(index);
        await held.release();
      }),
    );
    expect(order).toEqual([0, 1]);
  });

  it('has no line left after a shutdown of those who waited', async () => {
    const key = freshKey();
    const holder = await (await pod()).acquire(key);
    const waiter = await pod(server!.url, sleepy);
    const { lock } = await joins(waiter, key);
    // By now its attempt has been answered, too.
    await waiter.inspect(key);
    await waiter.shutdown(2000);
    await expect(lock).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await eventually(async () => expect(await line(key)).toEqual([]));
    await holder.release();
  });

  it('is not kept by a release that its waiter gave up on: the next one gets it', async () => {
    const key = freshKey();
    const holder = await (await pod()).acquire(key);
    const controller = new AbortController();
    const first = await joins(await pod(), key, { signal: controller.signal });
    const second = await joins(await pod(server!.url, sleepy), key);
    // Both at once: its turn has come when it hears of it, and nobody wants it.
    const released = holder.release();
    controller.abort(new Error('enough'));
    await released;
    await expect(first.lock).rejects.toThrow('enough');
    expect(await (await second.lock).release()).toBe(true);
  });
});
