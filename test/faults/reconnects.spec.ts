import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { LockBusyError, LockLostError, LockUnavailableError } from '../../lib/errors.js';
import type { Lock } from '../../lib/lock.js';
import type { LockManager } from '../../lib/lock-manager.js';
import { CLOSED } from '../../lib/stores/redis/ailment.js';
import { Census, type Sample } from '../soak/census.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { eventually } from '../support/eventually.js';
import type { RedisServer } from '../support/redis-server.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { address, fences, Lab, lockName, on, owners, urls } from './lab.js';

const lab = new Lab();
afterEach(() => lab.tidy());
afterAll(() => lab.end());

/** As its user has made it: what cannot be sent now lies in a queue, and what the connection broke under is sent again. */
function usersClient({ port }: { readonly port: number }): Redis {
  const client = lab.keep(new Redis(port, '127.0.0.1', { retryStrategy: () => 50, disconnectTimeout: 100 }));
  client.on('error', () => undefined);
  return client;
}

describe('A thousand connections that break under load', () => {
  const PODS = 10;
  const KEYS = 4;
  /** So far beyond what a reconnect takes that a slow machine makes no loss of it. */
  const TTL = '20s';
  const ENOUGH = 1200;
  const KEPT_PER_BREAK = { heapBytes: 10_000, listeners: 0.1, resources: 0.1 };
  let servers: RedisServer[];
  beforeAll(async () => {
    servers = await lab.start(3);
  });

  const connected = (server: RedisServer): Promise<string[]> =>
    on(server, async (redis) =>
      String(await redis.call('CLIENT', 'LIST', 'TYPE', 'NORMAL'))
        .trim()
        .split('\n'),
    );
  const connections = async (): Promise<number> => {
    const told = await Promise.all(servers.map((server) => on(server, (redis) => redis.info('stats'))));
    return told.reduce((sum, text) => sum + Number(/total_connections_received:(\d+)/.exec(text)![1]), 0);
  };

  it('lose no lock that is held, let nobody in beside a holder, leave nothing behind, and pile nothing up', async () => {
    const census = new Census();
    const clients = Array.from({ length: PODS / 2 }, () => servers.map(usersClient));
    const nodes = [...clients, ...clients.map(() => urls(servers))];
    const pods = await Promise.all(nodes.map((ofOne) => lab.pod({ nodes: ofOne })));
    const lost: unknown[] = [];
    for (const pod of pods) pod.on('lost', (event) => lost.push(event));
    const held = await Promise.all(pods.map((pod, index) => pod.acquire(`held:${index}`, { ttl: TTL })));

    let storm = true;
    const inside = new Map<string, Lock>();
    const met: string[] = [];
    const tokens = new Map<string, number>();
    const outcomes = { granted: 0, refused: 0 };
    const come = async (pod: LockManager, key: string): Promise<void> => {
      const lock = await pod.acquire(key, { ttl: TTL, wait: '2s' });
      if (inside.has(key) || lock.fencingToken <= (tokens.get(key) ?? 0)) met.push(key);
      inside.set(key, lock);
      tokens.set(key, lock.fencingToken);
      outcomes.granted++;
      await setImmediate();
      inside.delete(key);
      await lock.release();
    };
    const load = pods.map(async (pod, index) => {
      for (let turn = index; storm; turn++) {
        await come(pod, `shared:${turn % KEYS}`).catch((error: unknown) => {
          if (!(error instanceof LockBusyError || error instanceof LockUnavailableError)) throw error;
          outcomes.refused++;
        });
        await held[index]!.renew().catch((error: unknown) => {
          if (!(error instanceof LockUnavailableError)) throw error;
        });
      }
    });

    const breaksAtFirst = await connections();
    let early: Sample | undefined;
    let broken = 0;
    while (broken < ENOUGH) {
      for (const server of servers) {
        await on(server, async (redis) => {
          broken += Number(await redis.call('CLIENT', 'KILL', 'TYPE', 'NORMAL'));
          await redis.call('CLIENT', 'KILL', 'TYPE', 'PUBSUB');
        });
      }
      await eventually(async () => {
        // With the one that looks.
        for (const server of servers) expect((await connected(server)).length).toBeGreaterThan(PODS);
      });
      if (broken >= ENOUGH / 4) early ??= census.take();
    }
    storm = false;
    await Promise.all(load);

    expect(await connections()).toBeGreaterThan(breaksAtFirst + 1000);
    expect({ lost, met, held: held.filter((lock) => !lock.held).length }).toEqual({ lost: [], met: [], held: 0 });
    expect(outcomes.granted).toBeGreaterThan(0);
    await eventually(async () => {
      expect(await Promise.all(held.map((lock) => lock.renew().then(() => lock.held)))).toEqual(held.map(() => true));
    });
    expect(await Promise.all(held.map((lock) => lock.release()))).toEqual(held.map(() => true));
    await eventually(async () => {
      const left = await Promise.all(servers.map((server) => on(server, (redis) => redis.keys('lock:{*}'))));
      expect(left.flat()).toEqual([]);
    });
    const late = census.take();
    for (const what of ['heapBytes', 'listeners', 'resources'] as const) {
      const kept = (late[what] - early![what]) / ((broken * 3) / 4);
      expect({ what, kept: kept < KEPT_PER_BREAK[what] || kept }).toEqual({ what, kept: true });
    }
  }, 120_000);
});

describe.each(['a client', 'a Cluster client'])('What %s sends again when its connection broke under it', (kind) => {
  let server: RedisServer;
  let proxy: TcpProxy;
  let pod: LockManager;
  let cluster: RedisCluster | undefined;
  beforeEach(async () => {
    if (kind === 'a Cluster client') cluster = await RedisCluster.start({ primaries: 2 });
    server = cluster?.servers[0] ?? (await lab.start(1))[0]!;
    [proxy] = (await lab.proxy(server)) as [TcpProxy];
    pod = await lab.pod({ nodes: [cluster ? through(proxy, cluster) : usersClient(proxy)], nodeTimeout: '5s' });
    await (await pod.acquire(await keyOfServer())).release();
  });
  afterEach(async () => {
    await lab.end();
    await cluster?.stop();
    cluster = undefined;
  });

  /** One of the servers is reached through the proxy. */
  function through({ port }: TcpProxy, { servers: [behind] }: RedisCluster): Cluster {
    const natMap = { [`127.0.0.1:${behind!.port}`]: { host: '127.0.0.1', port } };
    const client = lab.keep(new Cluster([{ host: '127.0.0.1', port }], { natMap }));
    client.on('error', () => undefined);
    return client;
  }

  /** A key that the server behind the proxy has. */
  async function keyOfServer(): Promise<string> {
    for (;;) {
      const key = lab.key();
      if (!cluster || Number(await on(server, (redis) => redis.cluster('KEYSLOT', lockName(key)))) < 8000) return key;
    }
  }

  const reconnect = async (): Promise<void> => {
    proxy.reset();
    await proxy.pass();
  };

  it('is not in its own way: who asked gets the lock, and once it is released nobody has it', async () => {
    const key = await keyOfServer();
    proxy.blackhole({ lane: 'replies' });
    const asked = pod.acquire(key, { ttl: '10m', wait: '5m' });
    await eventually(async () => expect(await owners([server], key)).toEqual([expect.any(String)]));
    await reconnect();
    const lock = await asked;
    expect(await lock.release()).toBe(true);
    expect(await owners([server], key)).toEqual([null]);
  });

  it('is undone when nobody waits for it any more', async () => {
    const key = await keyOfServer();
    proxy.blackhole({ lane: 'requests', drop: true });
    await expect(pod.acquire(key, { ttl: '10m' })).rejects.toThrow('no answer within 5000 ms');
    expect(await fences([server], key)).toEqual([null]);
    await reconnect();
    await eventually(async () => {
      expect(await fences([server], key)).toEqual([expect.any(Number)]);
      expect(await owners([server], key)).toEqual([null]);
    });
  });

  it('is not taken for a loss when it is a release that has been carried out', async () => {
    const key = await keyOfServer();
    const worked = pod.withLock(key, async () => {
      proxy.blackhole({ lane: 'replies' });
      return 'done';
    });
    await eventually(async () => expect(await owners([server], key)).toEqual([null]));
    await reconnect();
    expect(await worked).toBe('done');
  });
});

describe.each(['quit', 'disconnect'] as const)('A client whose owner calls %s() while a lock is held by it', (end) => {
  it('is named, and the holder told; nobody waits for it, and the shutdown does not either', async () => {
    const [server] = (await lab.start(1)) as [RedisServer];
    const client = usersClient(server);
    const pod = await lab.pod({ nodes: [client] });
    const elsewhere = await lab.pod({ nodes: [server.url] });
    await using taken = await elsewhere.acquire(lab.key('taken'));
    const lock = await pod.acquire(lab.key(), { ttl: '1s' });
    const told = new Promise((resolve) => lock.signal.addEventListener('abort', resolve, { once: true }));
    const waiting = pod.acquire(taken.key, { wait: '10m' });
    const causes = [{ node: address(server), reason: CLOSED, lasting: true }];

    await client[end]();
    await eventually(() => expect(client.status).toBe('end'));
    await expect(lock.renew()).rejects.toMatchObject({ causes });
    await expect(pod.acquire(lab.key(), { wait: '10m' })).rejects.toMatchObject({ causes });
    await expect(waiting).rejects.toMatchObject({ causes });
    await told;
    expect(lock.signal.reason).toBeInstanceOf(LockLostError);
    expect(await lock.release()).toBe(false);
    await pod.shutdown(60_000);
  });
});
