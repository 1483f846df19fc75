import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockBusyError } from '../../../lib/errors.js';
import type { Lock } from '../../../lib/lock.js';
import { LockManager } from '../../../lib/lock-manager.js';
import { freeChannel } from '../../../lib/stores/redis/key-names.js';
import { LockScripts } from '../../../lib/stores/redis/lock-scripts.js';
import { TURN_MS } from '../../../lib/stores/redis/node-lua.js';
import { connectRedis } from '../../../lib/stores/redis/redis.store.js';
import type { RedisNodeEntry } from '../../../lib/stores/redis/redis-client.js';
import { eventually } from '../../support/eventually.js';
import { RedisServer, stopAll } from '../../support/redis-server.js';

describe('The line for a key on a lone Redis', () => {
  let server: RedisServer | undefined;
  let redis: Redis;
  let hearing: Redis | undefined;
  const pods: LockManager[] = [];
  const clients: Redis[] = [];
  let keys = 0;
  const freshKey = (): string => `key:${++keys}`;

  beforeAll(async () => {
    server = await RedisServer.start();
    redis = new Redis(server.port, '127.0.0.1');
    hearing = redis.duplicate();
    // Processes that hear of their turns, and do nothing about it.
    await hearing.subscribe(...['p', 'q', 'hung'].map((process) => `lock:turn:${process}`));
  });
  afterEach(async () => {
    await Promise.all(pods.splice(0).map(async (pod) => pod.shutdown(1000)));
    for (const client of clients.splice(0)) client.disconnect();
  });
  afterAll(async () => {
    redis?.disconnect();
    hearing?.disconnect();
    await stopAll(server);
  });

  async function pod(node: RedisNodeEntry = server!.url): Promise<LockManager> {
    const made = new LockManager(await connectRedis({ nodes: [node], ttlMs: 30_000, nodeTimeout: '10s' }));
    pods.push(made);
    return made;
  }

  const line = async (key: string): Promise<string[]> =>
    ((await redis.get(freeChannel(key))) ?? '')
      .split(' ')
      .filter(Boolean)
      .map((entry) => entry.replace(/\/\d+$/, ''));

  /** Waits in line for the key; resolves once it stands there. */
  async function joins(of: LockManager, key: string, wait = '60s'): Promise<{ readonly lock: Promise<Lock> }> {
    const before = (await line(key)).length;
    const lock = of.acquire(key, { wait });
    lock.catch(() => undefined);
    await eventually(async () => expect(await line(key)).toHaveLength(before + 1));
    return { lock };
  }

  it('leads in who waits in order of arrival, whichever process they are in, with rising tokens', async () => {
    const key = freshKey();
    const holder = await (await pod()).acquire(key);
    const waiting: Promise<Lock>[] = [];
    for (let waiter = 0; waiter < 4; waiter++) waiting.push((await joins(await pod(), key)).lock);
    const entered: number[] = [];
    const tokens = [holder.fencingToken];
    const passing = waiting.map(async (lock, index) => {
      const held = await lock;
      entered.push(index);
      tokens.push(held.fencingToken);
      await held.release();
    });
    await holder.release();
    await Promise.all(passing);
    expect(entered).toEqual([0, 1, 2, 3]);
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set(tokens).size).toBe(tokens.length);
  });

  it('asks for each grant little more than twice, however many wait', async () => {
    const key = freshKey();
    const everyone = await Promise.all(Array.from({ length: 4 }, () => pod()));
    const calls = async (): Promise<number> =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1]);
    const before = await calls();
    const GRANTS = 25;
    const taken = everyone.flatMap((each) => Array.from({ length: 16 }, () => ({ each, times: 0 })));
    const worker = async (waiter: { each: LockManager; times: number }): Promise<void> => {
      for (; waiter.times < GRANTS; waiter.times++) {
        const lock = await waiter.each.acquire(key, { wait: '60s' });
        await lock.release();
      }
    };
    await Promise.all(taken.map(worker));
    const grants = GRANTS * taken.length;
    // Two, and what a machine that is held up adds: a turn that was missed, a look in between.
    expect((await calls()) - before).toBeLessThan(2.5 * grants);
  }, 60_000);

  it('keeps a key for who is first, so that nobody barges in, and for no longer than a moment', async () => {
    const key = freshKey();
    const holder = await (await pod()).acquire(key);
    await redis.set(freeChannel(key), 'hung/1/500');
    await holder.release();
    const refusal = await (await pod()).acquire(key).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LockBusyError);
    expect((refusal as LockBusyError).retryAfterMs).toBeLessThanOrEqual(500);
    await eventually(async () => {
      const lock = await (await pod()).acquire(key);
      await lock.release();
    });
  });

  it('goes on behind places whose processes have died', async () => {
    const key = freshKey();
    const holder = await (await pod()).acquire(key);
    await redis.set(freeChannel(key), 'dead/1/500 dead/2/500');
    const { lock: waiting } = await joins(await pod(), key);
    await holder.release();
    expect((await waiting).held).toBe(true);
  });

  it('keeps a key for nobody when all who stood in it have died: who does not wait gets it, and who listens is told', async () => {
    const key = freshKey();
    const pods = [await pod(), await pod()];
    const told = new Promise<unknown>((resolve) => hearing!.once('message', (channel) => resolve(channel)));
    await hearing!.subscribe(freeChannel(key));
    const holder = await pods[0]!.acquire(key);
    await redis.set(freeChannel(key), 'dead/1/600000 dead/2/600000');
    await holder.release();
    expect(await redis.exists(`lock:{${key}}`, freeChannel(key))).toBe(0);
    expect(await told).toBe(freeChannel(key));
    const next = await pods[1]!.acquire(key);
    expect(next.fencingToken).toBeGreaterThan(holder.fencingToken);
    await next.release();
    // Where a lease ran out, whoever looks finds out.
    await redis.set(freeChannel(key), 'dead/3/600000');
    const waiting = await pods[0]!.acquire(key, { wait: '60s' });
    expect(await waiting.release()).toBe(true);
    const after = await (await pod()).acquire(key);
    await redis.set(freeChannel(key), 'dead/4/600000');
    const behind = await joins(pods[1]!, key);
    await redis.del(`lock:{${key}}`);
    const lock = await behind.lock;
    expect(lock.fencingToken).toBeGreaterThan(after.fencingToken);
    await lock.release();
  });

  it('leads the first in when the holder died and its lease ran out, whoever looks first', async () => {
    const key = freshKey();
    await (await pod()).acquire(key, { ttl: '300ms', autoRenew: false });
    const first = await joins(await pod(), key);
    const second = await joins(await pod(), key);
    const order: string[] = [];
    const pass = async (name: string, lock: Promise<Lock>): Promise<void> => {
      const held = await lock;
      order.push(name);
      await held.release();
    };
    await Promise.all([pass('first', first.lock), pass('second', second.lock)]);
    expect(order).toEqual(['first', 'second']);
  });

  it('is left by who gives up, and hands the key on if it was their turn', async () => {
    const key = freshKey();
    const holder = await (await pod()).acquire(key);
    const giveUp = new AbortController();
    const impatient = (await pod()).acquire(key, { wait: '60s', signal: giveUp.signal });
    await eventually(async () => expect(await line(key)).toHaveLength(1));
    const next = await joins(await pod(), key);
    giveUp.abort(new Error('enough'));
    await expect(impatient).rejects.toThrow('enough');
    await eventually(async () => expect(await line(key)).toHaveLength(1));
    await holder.release();
    await (await next.lock).release();
    await eventually(async () => expect(await redis.exists(freeChannel(key), `lock:{${key}}`)).toBe(0));
  });

  it('is left by a process when the last of its waiters has gone, not before', async () => {
    const key = freshKey();
    const holder = await (await pod()).acquire(key);
    const crowd = await pod();
    const signals = [new AbortController(), new AbortController()];
    const waiting = signals.map(({ signal }) => crowd.acquire(key, { wait: '60s', signal }).catch(() => 'gone'));
    await eventually(async () => expect(await line(key)).toHaveLength(1));
    signals[0]!.abort();
    expect(await waiting[0]).toBe('gone');
    expect(await line(key)).toHaveLength(1);
    signals[1]!.abort();
    expect(await waiting[1]).toBe('gone');
    await eventually(async () => expect(await line(key)).toHaveLength(0));
    await holder.release();
  });

  it('does not outlast those who stand in it', async () => {
    const key = freshKey();
    await (await pod()).acquire(key);
    await joins(await pod(), key);
    const left = await redis.pttl(freeChannel(key));
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(60_000);
  });

  it('is not joined by who cannot be told of a turn', async () => {
    await redis.call('ACL', 'SETUSER', 'deaf', 'on', '>secret', '~*', '+@all', '-subscribe', 'resetchannels');
    const deaf = await pod({ host: '127.0.0.1', port: server!.port, username: 'deaf', password: 'secret' });
    const key = freshKey();
    const holder = await (await pod()).acquire(key);
    const waiting = deaf.acquire(key, { wait: '60s' });
    const other = await joins(await pod(), key);
    expect(await line(key)).toHaveLength(1);
    await holder.release();
    await (await other.lock).release();
    expect((await waiting).held).toBe(true);
  });

  it('asks for no more rights than a lock and a subscription do', async () => {
    const commands = [
      '+eval',
      '+evalsha',
      '+set',
      '+get',
      '+del',
      '+pttl',
      '+pexpire',
      '+publish',
      '+subscribe',
      '+info',
    ];
    await redis.call('ACL', 'SETUSER', 'locker', 'on', '>secret', '~lock:*', '&lock:*', ...commands);
    const node = { host: '127.0.0.1', port: server!.port, username: 'locker', password: 'secret' };
    const key = freshKey();
    const holder = await (await pod(node)).acquire(key);
    const { lock: waiting } = await joins(await pod(node), key);
    expect(await holder.release()).toBe(true);
    expect(await (await waiting).release()).toBe(true);
    expect(await line(key)).toEqual([]);
  });

  it('is served in one script with other requests', async () => {
    const scripts = new LockScripts(0, 60_000);
    const request = { ms: 1000, token: 5 };
    const call = scripts.all([
      { verb: 'acquire', key: 'x', owner: 'p/a', ...request },
      { verb: 'queue', key: 'x', owner: 'p/b', place: '+', ...request },
      { verb: 'queue', key: 'y', owner: 'p/c', place: '+', ...request },
      { verb: 'queue', key: 'y', owner: 'p/d', place: '+', ...request },
      { verb: 'release', key: 'x', owner: 'p/a', ms: 0, token: 0 },
      { verb: 'queue', key: 'x', owner: 'q/e', place: '+', ...request },
      { verb: 'queue', key: 'x', owner: 'p/f', place: '+p/b', ...request },
      { verb: 'leave', key: 'y', owner: 'p/d', ms: 0, token: 0 },
    ]);
    const replies = await redis.eval(call.text, call.keyCount, ...call.args);
    const heldBy = (owner: string): unknown => [0, [owner, expect.any(Number)]];
    // b got the key, and the token 6; f, who came after b, then asked for it, and got 7.
    expect(replies).toEqual([5, heldBy('p/a'), 5, heldBy('p/c'), 0, heldBy('p/b'), 7, 0]);
    expect(await line('x')).toEqual(['q/e']);
    expect(await line('y')).toEqual([]);
  });

  it('keeps the place of an attempt for the one after it', async () => {
    const scripts = new LockScripts(0, 60_000);
    const key = freshKey();
    const ask = (owner: string, place: string): Promise<unknown> => {
      const { text, keyCount, args } = scripts.one({ verb: 'queue', key, owner, place, ms: 60_000, token: 5 });
      return redis.eval(text, keyCount, ...args);
    };
    await ask('p/holder', '+');
    for (const owner of ['p/a', 'q/b', 'r/c']) await ask(owner, '+');
    await ask('q/d', '+q/b');
    expect(await line(key)).toEqual(['p/a', 'q/d', 'r/c']);
    await ask('q/e', '+q/b');
    expect(await line(key)).toEqual(['p/a', 'q/d', 'r/c', 'q/e']);
    await redis.del(`lock:{${key}}`);
    expect(await ask('p/f', '+p/a')).toBe(6);
    expect(await line(key)).toEqual(['q/d', 'r/c', 'q/e']);
  });

  it('keeps a place for as long as its present attempt is to get the key, not the one before it', async () => {
    const scripts = new LockScripts(0, 60_000);
    const key = freshKey();
    const ask = (owner: string, place: string, ms: number): Promise<unknown> => {
      const { text, keyCount, args } = scripts.one({ verb: 'queue', key, owner, place, ms, token: 5 });
      return redis.eval(text, keyCount, ...args);
    };
    await ask('p/holder', '+', 60_000);
    await ask('p/a', '+', 300);
    await ask('q/b', '+', 400);
    await ask('r/c', '+', 60_000);
    await ask('q/d', '+q/b', 1200);
    await ask('r/e', '+r/c', 500);
    expect(await redis.get(freeChannel(key))).toBe('p/a/300 q/d/1200 r/e/500');
  });

  it('gives whoever is first the key for a moment, and for no longer than they wanted it', async () => {
    const scripts = new LockScripts(0, 60_000);
    for (const [ms, turnMs] of [
      [300, 300],
      [60_000, TURN_MS],
    ] as const) {
      const key = freshKey();
      for (const owner of ['p/holder', 'q/next']) {
        const { text, keyCount, args } = scripts.one({ verb: 'queue', key, owner, place: '+', ms, token: 5 });
        await redis.eval(text, keyCount, ...args);
      }
      const release = scripts.one({ verb: 'release', key, owner: 'p/holder', ms: 0, token: 0 });
      await redis.eval(release.text, release.keyCount, ...release.args);
      const left = await redis.pttl(`lock:{${key}}`);
      expect(left).toBeLessThanOrEqual(turnMs);
      // Unless that moment has passed already.
      if (left > 0) expect(await redis.get(`lock:{${key}}`)).toBe('q/next');
    }
  });

  it('gives it for as long as the attempt that stands there now wants it, not the one whose place it took', async () => {
    const scripts = new LockScripts(0, 60_000);
    for (const [before, ms] of [
      [300, 60_000],
      [60_000, 300],
    ] as const) {
      const key = freshKey();
      const ask = (owner: string, place: string, forMs: number): Promise<unknown> => {
        const { text, keyCount, args } = scripts.one({ verb: 'queue', key, owner, place, ms: forMs, token: 5 });
        return redis.eval(text, keyCount, ...args);
      };
      await ask('p/holder', '+', 60_000);
      await ask('q/before', '+', before);
      await ask('r/behind', '+', 100);
      await ask('q/next', '+q/before', ms);
      expect(await redis.get(freeChannel(key))).toBe(`q/next/${Math.min(ms, TURN_MS)} r/behind/100`);
    }
  });

  it('is handed on by who leaves when it is their turn', async () => {
    const scripts = new LockScripts(0, 60_000);
    const key = freshKey();
    await redis.set(`lock:{${key}}`, 'p/leaving', 'PX', 60_000);
    await redis.set(freeChannel(key), 'q/next/5000');
    const leave = scripts.one({ verb: 'leave', key, owner: 'p/leaving', ms: 0, token: 0 });
    await redis.eval(leave.text, leave.keyCount, ...leave.args);
    expect(await redis.get(`lock:{${key}}`)).toBe('q/next');
    const last = scripts.one({ verb: 'leave', key, owner: 'q/next', ms: 0, token: 0 });
    await redis.eval(last.text, last.keyCount, ...last.args);
    expect(await redis.exists(`lock:{${key}}`)).toBe(0);
  });

  it('passes nobody by on a Cluster, where those who listen may do so at another node', async () => {
    for (const [isCluster, holder] of [
      [false, 'q/next'],
      [true, 'elsewhere/1'],
    ] as const) {
      const scripts = new LockScripts(0, 60_000, isCluster);
      const key = freshKey();
      await redis.mset(`lock:{${key}}`, 'p/leaving', freeChannel(key), 'elsewhere/1/60000 q/next/60000');
      const { text, keyCount, args } = scripts.one({ verb: 'release', key, owner: 'p/leaving', ms: 0, token: 0 });
      await redis.eval(text, keyCount, ...args);
      expect(await redis.get(`lock:{${key}}`)).toBe(holder);
    }
  });

  it('is not joined while the node is in quarantine', async () => {
    const scripts = new LockScripts(60_000, 60_000);
    const { text, keyCount, args } = scripts.one({
      verb: 'queue',
      key: 'q',
      owner: 'o',
      ms: 1000,
      token: 5,
      place: '+',
    });
    expect(await redis.eval(text, keyCount, ...args)).toEqual([2, expect.any(Number)]);
    expect(await line('q')).toEqual([]);
  });
});
