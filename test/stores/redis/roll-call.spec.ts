import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { LockOptionsError } from '../../../lib/errors.js';
import type { RedisNodeEntry } from '../../../lib/stores/redis/redis-client.js';
import { connectRedis } from '../../../lib/stores/redis/redis.store.js';
import type { RedlockStore } from '../../../lib/stores/redis/redlock.store.js';
import { eventually } from '../../support/eventually.js';
import { bulk, FakeRedis } from '../../support/fake-redis.js';
import { LEAST_RULES, setUser } from '../../support/least-user.js';
import { RedisCluster } from '../../support/redis-cluster.js';
import { startRedisNodes, stopAll, type RedisServer } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

const TTL_MS = 30_000;

let servers: RedisServer[] = [];
let cluster: RedisCluster | undefined;
let logged: string[] = [];
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  [servers, cluster] = await Promise.all([startRedisNodes(3), RedisCluster.start()]);
}, 60_000);
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  logged = [];
  await Promise.all(servers.map(async (server) => server.running || server.restart()));
});
afterAll(async () => {
  await Promise.all([stopAll(servers), cluster?.stop()]);
});

async function open(nodes: readonly RedisNodeEntry[], quarantine: number | undefined = 0): Promise<RedlockStore> {
  const log = (message: string): void => void logged.push(message);
  const store = await connectRedis({ nodes, ttlMs: TTL_MS, nodeTimeout: '5s', quarantine, log });
  ends.push(() => store.close());
  return store;
}

async function refusal(nodes: readonly RedisNodeEntry[]): Promise<LockOptionsError> {
  const error: unknown = await open(nodes).then(
    () => new Error('it was opened'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(LockOptionsError);
  return error as LockOptionsError;
}

async function tell<T>({ port }: { port: number }, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(port, '127.0.0.1');
  return work(redis).finally(() => redis.disconnect());
}

/** The connections that the locks have made to a server. */
async function connections(server: RedisServer): Promise<number> {
  const list = await tell(server, (redis) => redis.call('CLIENT', 'LIST'));
  return String(list).split('name=nestjs-fenced-lock').length - 1;
}

function kept<C extends { disconnect(): void }>(client: C): C {
  ends.push(() => client.disconnect());
  return client;
}

/** As little as possible, without a command or two. */
async function userWithout(server: RedisServer, ...rules: string[]): Promise<RedisNodeEntry> {
  const user = await setUser(server, [...LEAST_RULES, ...rules]);
  return { host: '127.0.0.1', port: server.port, ...user };
}

describe('One server listed twice', () => {
  it('is refused at the start, by whatever address or database it is reached, and no connection is left', async () => {
    const [one, other] = servers as [RedisServer, RedisServer];
    const proxy = await TcpProxy.start(one.port);
    ends.push(() => proxy.close());
    for (const again of [`${one.url}/1`, proxy.url(), { port: one.port, username: 'default' }]) {
      const error = await refusal([one.url, other.url, again]);
      expect(error.message).toMatch(/it leads to the same server as \S+:\d+, which would vote twice/);
    }
    await eventually(async () => expect([await connections(one), await connections(other)]).toEqual([0, 0]));
  });

  it('is refused when it is a Cluster, however it is entered', async () => {
    const [first, , last] = cluster!.addresses;
    const nodes = [kept(new Cluster([first!])), kept(new Cluster([last!])), servers[0]!.url];
    expect((await refusal(nodes)).message).toContain('same server as cluster of');
    expect(nodes.slice(0, 2).map((client) => (client as Cluster).status)).toEqual(['ready', 'ready']);
  });

  it('is said in the log when it shows only later, and two votes of one server are no majority', async () => {
    const [one, other] = servers as [RedisServer, RedisServer];
    await one.kill();
    const proxy = await TcpProxy.start(one.port);
    ends.push(() => proxy.close());
    const store = await open([one.url, other.url, proxy.url()]);
    await one.restart();
    await eventually(() => expect(logged.join()).toContain('which would vote twice'));
    expect(await store.acquire('a', 'o', TTL_MS)).toMatchObject({ acquired: true });
    await other.kill();
    const outcome = await store.acquire('b', 'o', TTL_MS).catch((error: unknown) => error);
    expect(outcome).not.toMatchObject({ acquired: true });
  });

  it('is no matter where a server does not say who it is', async () => {
    const [one, other] = servers as [RedisServer, RedisServer];
    const silent = await userWithout(one, '-info');
    await open([silent, other.url, { ...(silent as object), db: 0 }]);
    expect(logged).toEqual([]);
  });
});

describe('Members of a Cluster as nodes of their own', () => {
  it('are refused at the start, with MOVED as the reason, alone as well as several', async () => {
    const urls = cluster!.servers.map(({ url }) => url);
    for (const nodes of [urls, [urls[0]!], [urls[0]!, servers[0]!.url, servers[1]!.url]]) {
      const error = await refusal(nodes);
      expect(error).toMatchObject({ option: 'nodes', value: new URL(urls[0]!).host });
      expect(error.message).toMatch(/MOVED.*member of a Cluster.*new Cluster/);
    }
  });

  it('are refused also where they do not say what they are', async () => {
    const [member] = cluster!.servers;
    expect((await refusal([await userWithout(member!, '-info')])).message).toContain('MOVED');
  });

  it('give MOVED as the reason at the first use, if they were out of reach at the start', async () => {
    const proxy = await TcpProxy.start(cluster!.servers[0]!.port);
    ends.push(() => proxy.close());
    proxy.cut();
    const store = await open([proxy.url()]);
    await proxy.pass();
    await eventually(() => expect(logged.join()).toMatch(/MOVED.*member of a Cluster/));
    await expect(store.acquire('a', 'o', TTL_MS)).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      causes: [
        // Whoever waits would wait in vain.
        {
          node: `127.0.0.1:${proxy.port}`,
          reason: expect.stringMatching(/^MOVED.*member of a Cluster/),
          lasting: true,
        },
      ],
    });
  });
});

describe('A version', () => {
  const INFO = (version: string): string => `# Server\r\nredis_version:${version}\r\nrun_id:${'0'.repeat(40)}\r\n`;

  async function ofVersion(version: string, probe: string | undefined = '*0'): Promise<FakeRedis> {
    const fake = await FakeRedis.start(([name = '']) => {
      if (/^info$/i.test(name)) return bulk(INFO(version));
      if (/^hello$/i.test(name)) return "-ERR unknown command 'HELLO'";
      return /^eval/i.test(name) ? probe : '+OK';
    });
    ends.push(() => fake.stop());
    return fake;
  }

  it.each(['6.0.16', '5.0.14', '3.2.100'])('of %s is refused at the start', async (version) => {
    const fake = await ofVersion(version);
    expect((await refusal([fake.url])).message).toContain(`it runs Redis ${version}, and locks need 6.2 or later`);
  });

  it.each(['6.2.0', '7.0.15', '8.4.1', '10.0.0'])('of %s is taken', async (version) => {
    await open([(await ofVersion(version)).url]);
    expect(logged).toEqual([]);
  });

  it('is no less taken where several servers hide who they are behind the same zeros', async () => {
    const fakes = await Promise.all([1, 2, 3].map(() => ofVersion('7.0.15')));
    await open(fakes.map(({ url }) => url));
    expect(logged).toEqual([]);
  });

  it('that is hidden is not held against a node', async () => {
    await open([(await ofVersion('')).url]);
    expect(logged).toEqual([]);
  });

  it('does not keep the start waiting for a server that falls silent after it', async () => {
    const fake = await FakeRedis.start(([name = '']) => {
      if (/^info$/i.test(name)) return bulk(INFO('7.0.15'));
      return /^hello$/i.test(name) ? "-ERR unknown command 'HELLO'" : undefined;
    });
    ends.push(() => fake.stop());
    // Its own connection would wait for the rest of the handshake.
    const client = kept(new Redis(fake.url, { protocol: 2, disableClientInfo: true }));
    await open([client]);
  });
});

describe('A policy that evicts keys', () => {
  const setPolicy = (server: RedisServer, policy: string): Promise<unknown> =>
    tell(server, (redis) => redis.config('SET', 'maxmemory-policy', policy));

  afterEach(() => setPolicy(servers[0]!, 'noeviction'));

  it.each(['allkeys-lru', 'volatile-ttl'])('is warned of in one line: %s', async (policy) => {
    const [one, other, third] = servers as [RedisServer, RedisServer, RedisServer];
    await setPolicy(one, policy);
    await open([one.url, other.url, third.url]);
    expect(logged).toEqual([
      `Redis node 127.0.0.1:${one.port} drops locks when its memory is full, and may let a second holder in (maxmemory-policy ${policy}). Set noeviction.`,
    ]);
  });

  it('is not warned of again with each new connection', async () => {
    const [one] = servers as [RedisServer];
    await setPolicy(one, 'allkeys-lru');
    const proxy = await TcpProxy.start(one.port);
    ends.push(() => proxy.close());
    await open([proxy.url()]);
    proxy.reset();
    await eventually(() => expect(logged.join('\n')).toContain('connected again'));
    await setPolicy(one, 'allkeys-lfu');
    proxy.reset();
    await eventually(() => expect(logged.at(-1)).toContain('allkeys-lfu'));
    expect(logged.filter((line) => line.includes('allkeys-lru'))).toHaveLength(1);
  });

  it('is warned of once a node that was down at the start has come up', async () => {
    const [one, other, third] = servers as [RedisServer, RedisServer, RedisServer];
    const proxy = await TcpProxy.start(one.port);
    ends.push(() => proxy.close());
    await setPolicy(one, 'allkeys-lru');
    proxy.cut();
    await open([proxy.url(), other.url, third.url]);
    expect(logged).toEqual([expect.stringContaining('out of reach')]);
    await proxy.pass();
    await eventually(() => expect(logged.at(-1)).toContain('maxmemory-policy allkeys-lru'));
  });

  it('is warned of on any server of a Cluster', async () => {
    const last = cluster!.servers.at(-1)!;
    await setPolicy(last, 'allkeys-random');
    ends.push(() => setPolicy(last, 'noeviction'));
    await open([kept(await cluster!.connect())]);
    expect(logged).toEqual([expect.stringContaining('allkeys-random')]);
  });
});

describe('Looking at a node', () => {
  it('costs nothing once it is connected, and leaves nothing behind', async () => {
    const [one] = servers as [RedisServer];
    await tell(one, (redis) => redis.flushall());
    const store = await open([one.url]);
    expect(await tell(one, (redis) => redis.dbsize())).toBe(0);
    await tell(one, (redis) => redis.config('RESETSTAT'));
    for (let round = 0; round < 50; round++) {
      await store.acquire(`key:${round}`, 'o', TTL_MS);
      await store.release(`key:${round}`, 'o');
    }
    const stats = await tell(one, (redis) => redis.info('commandstats'));
    expect(stats).toContain('cmdstat_evalsha:calls=100,');
    expect(stats).not.toMatch(/cmdstat_(eval|publish):/);
  });

  it('leaves the marker of a node alone', async () => {
    const [one, other, third] = servers as [RedisServer, RedisServer, RedisServer];
    await tell(one, (redis) => redis.set('lock:marker', '1'));
    await open([one.url, other.url, third.url], TTL_MS / 1000);
    expect(await tell(one, (redis) => redis.get('lock:marker'))).toBe('1');
    expect(await tell(one, (redis) => redis.pttl('lock:marker'))).toBe(-1);
  });
});

describe('A user who lacks', () => {
  const lacks = ['eval', 'evalsha', 'set', 'get', 'del', 'pttl', 'pexpire'];

  it.each(lacks)('%s gets no lock, at once and with its name, and nothing is left behind', async (command) => {
    const [one] = servers as [RedisServer];
    const store = await open([await userWithout(one, `-${command}`)]);
    const lack = `NOPERM its user may not use ${command.toUpperCase()}`;
    expect(logged).toEqual([`Redis node 127.0.0.1:${one.port} grants no locks: ${lack}.`]);
    await expect(store.acquire('lacking', 'o', TTL_MS)).rejects.toMatchObject({
      causes: [{ reason: lack, lasting: true }],
    });
    await expect(store.acquire('lacking', 'o', TTL_MS, { stands: true })).rejects.toThrow(lack);
    expect(await store.check()).toMatchObject({ status: 'down', nodes: [{ state: 'down', reason: lack }] });
    expect(await tell(one, (redis) => redis.exists('lock:{lacking}', 'lock:{lacking}:fence'))).toBe(0);
  });

  it('time gets none from nodes with a quarantine, which need it, and from others does', async () => {
    const nodes = await Promise.all(servers.map((server) => userWithout(server, '-time')));
    const guarded = await open(nodes, TTL_MS / 1000);
    await expect(guarded.acquire('lacking', 'o', TTL_MS)).rejects.toThrow('NOPERM its user may not use TIME');
    const store = await open(nodes);
    expect(await store.acquire('lacking', 'o', TTL_MS)).toMatchObject({ acquired: true });
    expect(await store.release('lacking', 'o')).toBe(true);
  });

  it('the keys gets none', async () => {
    const [one] = servers as [RedisServer];
    const store = await open([await userWithout(one, 'resetkeys', '~other:*')]);
    await expect(store.acquire('lacking', 'o', TTL_MS)).rejects.toThrow('may not use keys such as lock:*');
  });

  it('several commands has all of them named, and gets locks as soon as it may', async () => {
    const [one] = servers as [RedisServer];
    const store = await open([await userWithout(one, '-del', '-pexpire')]);
    await expect(store.acquire('mended', 'o', TTL_MS)).rejects.toThrow('may not use DEL, PEXPIRE');
    await userWithout(one);
    await eventually(async () => {
      expect(await store.acquire('mended', 'o', TTL_MS)).toMatchObject({ acquired: true });
    });
    expect(await store.release('mended', 'o')).toBe(true);
  });

  it('something only since then is refused what it lacks by name as well', async () => {
    const [one] = servers as [RedisServer];
    const store = await open([await userWithout(one)]);
    await userWithout(one, '-pttl');
    await store.acquire('later', 'o', TTL_MS);
    // The server does not say which, at first.
    await expect(store.acquire('later', 'p', TTL_MS)).rejects.toMatchObject({
      causes: [{ reason: expect.stringMatching(/^NOPERM .*command/) }],
    });
    await eventually(async () => {
      await store.acquire('later', 'p', TTL_MS).catch(() => undefined);
      await expect(store.acquire('later', 'p', TTL_MS)).rejects.toThrow('NOPERM its user may not use PTTL');
    });
  });

  it('the same on one node of three does not matter', async () => {
    const [one, other, third] = servers as [RedisServer, RedisServer, RedisServer];
    const store = await open([await userWithout(one, '-pexpire'), other.url, third.url]);
    expect(await store.acquire('majority', 'o', TTL_MS)).toMatchObject({ acquired: true });
    expect(await store.renew('majority', 'o', TTL_MS)).toBe(true);
    expect(await store.release('majority', 'o')).toBe(true);
  });

  it('something on a server of a Cluster gets none either', async () => {
    const last = cluster!.servers.at(-1)!;
    const user = await setUser(last, [...LEAST_RULES, '-pexpire']);
    for (const server of cluster!.servers.slice(0, -1)) await setUser(server, LEAST_RULES);
    const store = await open([kept(new Cluster(cluster!.addresses, { redisOptions: user }))]);
    await expect(store.acquire('lacking', 'o', TTL_MS)).rejects.toThrow('NOPERM its user may not use PEXPIRE');
  });

  it.each([
    ['-publish', 'PUBLISH'],
    ['resetchannels', 'PUBLISH'],
  ])('channels by %s gets locks, and the log says what it does without', async (rule, named) => {
    const [one] = servers as [RedisServer];
    const store = await open([await userWithout(one, rule)]);
    expect(logged).toEqual([expect.stringMatching(new RegExp(`does not wake who waits .*NOPERM.*${named}`))]);
    expect(await store.acquire(rule, 'o', TTL_MS)).toMatchObject({ acquired: true });
    expect(await store.release(rule, 'o')).toBe(true);
  });

  it('subscribe is told so, once, when it waits', async () => {
    const [one] = servers as [RedisServer];
    const store = await open([await userWithout(one, '-subscribe')]);
    for (const key of ['a', 'b']) ends.push(store.onFree(key, () => undefined));
    await eventually(() => expect(logged).toHaveLength(1));
    expect(logged[0]).toMatch(/does not wake who waits .*NOPERM.*'subscribe'/);
  });

  it.each(['scan', 'info', 'script|load', 'client|setname', 'cluster|slots', 'unsubscribe'])(
    '%s gets locks all the same',
    async (command) => {
      const [one] = servers as [RedisServer];
      const store = await open([await userWithout(one, `-${command}`)]);
      expect(await store.acquire(command, 'o', TTL_MS)).toMatchObject({ acquired: true });
      expect(await store.renew(command, 'o', TTL_MS)).toBe(true);
      expect(await store.release(command, 'o')).toBe(true);
      expect(logged).toEqual([]);
    },
  );
});
