import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lock } from '../../lib/lock.js';
import type { LockManager } from '../../lib/lock-manager.js';
import { eventually } from '../support/eventually.js';
import type { RedisServer } from '../support/redis-server.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { Lab, lockName, on, owners, urls } from './lab.js';
import { RequestTape } from './request-tape.js';

const NODE_TIMEOUT_MS = 100;
/** So long that nothing frees itself while a test runs. */
const TTL = '10m';

const lab = new Lab();
let servers: [RedisServer, RedisServer, RedisServer];

beforeAll(async () => {
  servers = (await lab.start(3)) as typeof servers;
});
afterEach(() => lab.tidy());
afterAll(() => lab.end());

/** A pod whose way to the third node leads through a proxy. */
async function podBehind(proxy: TcpProxy): Promise<LockManager> {
  return lab.pod({ nodes: urls([servers[0], servers[1], proxy]), nodeTimeout: `${NODE_TIMEOUT_MS}ms` });
}

async function comeAndGo(pod: LockManager, key = lab.key('passing')): Promise<void> {
  const lock = await pod.acquire(key, { ttl: TTL });
  expect(await lock.release()).toBe(true);
}

/** Locks that are on the third node, too. */
async function hold(pod: LockManager, count: number): Promise<Lock[]> {
  const keys = Array.from({ length: count }, () => lab.key('held'));
  const locks = await Promise.all(keys.map((key) => pod.acquire(key, { ttl: TTL })));
  await eventually(async () => expect(await heldOn(servers[2])).toHaveLength(count));
  return locks;
}

/** The names of the locks that a node has of all that this file takes. */
async function heldOn(server: RedisServer): Promise<string[]> {
  const names = await on(server, (redis) => redis.keys('lock:{*}'));
  return names.filter((name) => name.endsWith('}'));
}

/** Until the pod knows that the node does not answer in time. */
async function notice(pod: LockManager): Promise<void> {
  await comeAndGo(pod);
  await sleep(3 * NODE_TIMEOUT_MS);
}

/** The third node votes for a lock. */
async function takesPart(pod: LockManager): Promise<void> {
  await eventually(async () => {
    const key = lab.key();
    await using _ = await pod.acquire(key);
    expect(new Set(await owners(servers, key)).size).toBe(1);
  });
}

describe('A node that hangs', () => {
  it('is asked nothing while the others suffice, and takes part again when it is back', async () => {
    const pod = await lab.pod({ nodes: urls(servers), nodeTimeout: `${NODE_TIMEOUT_MS}ms` });
    const tape = lab.keep(await RequestTape.start(servers[2].port));
    servers[2].freeze();
    await notice(pod);
    const passing = Array.from({ length: 100 }, () => lab.key('passing'));
    for (const key of passing) await comeAndGo(pod, key);
    servers[2].thaw();
    await takesPart(pod);
    const told = new Set(tape.requests.map(({ lock }) => lock));
    expect(passing.filter((key) => told.has(lockName(key)))).toEqual([]);
  });

  it('is told, when it is back, of all that was released meanwhile', async () => {
    const pod = await lab.pod({ nodes: urls(servers), nodeTimeout: `${NODE_TIMEOUT_MS}ms` });
    const locks = await hold(pod, 1500);
    servers[2].freeze();
    // One after the other, so that each would be a script of its own.
    for (const lock of locks) expect(await lock.release()).toBe(true);
    servers[2].thaw();
    await eventually(async () => expect(await Promise.all(servers.map(heldOn))).toEqual([[], [], []]));
  });

  it('gets, when it is back, what is held by then, and is told of its release, though that comes while it hangs again', async () => {
    const [proxy] = (await lab.proxy(servers[2])) as [TcpProxy];
    const pod = await podBehind(proxy);
    proxy.blackhole();
    await notice(pod);
    const key = lab.key();
    const lock = await pod.acquire(key, { ttl: '3s' });
    const long = await pod.acquire(lab.key(), { ttl: TTL });
    expect(await owners([servers[2]], key)).toEqual([null]);
    await proxy.pass();
    await eventually(async () => expect(new Set(await owners(servers, key)).size).toBe(1));
    await long.renew();
    await eventually(async () => expect(new Set(await owners(servers, long.key)).size).toBe(1));
    expect(await lock.release()).toBe(true);
    await eventually(async () => expect(await owners(servers, key)).toEqual([null, null, null]));

    proxy.blackhole();
    await notice(pod);
    expect(await long.release()).toBe(true);
    expect(await owners([servers[2]], long.key)).not.toEqual([null]);
    await proxy.pass();
    await eventually(async () => expect(await owners(servers, long.key)).toEqual([null, null, null]));
  });
});

describe('A node that is cut off', () => {
  it('is told, when it is back, what was released meanwhile', async () => {
    const [proxy] = (await lab.proxy(servers[2])) as [TcpProxy];
    const pod = await podBehind(proxy);
    const locks = await hold(pod, 100);
    proxy.cut();
    for (const lock of locks) expect(await lock.release()).toBe(true);
    expect(await heldOn(servers[2])).toHaveLength(100);
    await proxy.pass();
    await eventually(async () => expect(await heldOn(servers[2])).toEqual([]));
  });
});

describe('A node that answers too late', () => {
  it('is asked only now and then whether it has become quicker, and takes part again once it has', async () => {
    const [proxy] = (await lab.proxy(servers[2])) as [TcpProxy];
    const pod = await podBehind(proxy);
    const locks = await hold(pod, 10);
    proxy.delay(4 * NODE_TIMEOUT_MS);
    await notice(pod);
    const before = await on(servers[2], scripts);
    for (let lock = 0; lock < 500; lock++) await comeAndGo(pod);
    expect((await on(servers[2], scripts)) - before).toBeLessThan(100);
    // It is late, not deaf.
    for (const lock of locks) await lock.release();
    await eventually(async () => expect(await heldOn(servers[2])).toEqual([]));

    await proxy.pass();
    await takesPart(pod);
  });
});

async function scripts(redis: { info(section: string): Promise<string> }): Promise<number> {
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
}
