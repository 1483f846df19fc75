import { mkdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { LockBusyError, LockUnavailableError } from '../../lib/errors.js';
import type { LockManager } from '../../lib/lock-manager.js';
import { eventually } from '../support/eventually.js';
import type { RedisServer } from '../support/redis-server.js';
import { address, Lab, lockName, on, owners, pttls, renewed, urls } from './lab.js';

interface State {
  readonly name: string;
  readonly reason: RegExp;
  /** Whether it may pass while somebody waits. */
  readonly passes: boolean;
  /** More arguments for the servers. */
  readonly args?: readonly string[];
  befall(server: RedisServer): Promise<unknown>;
  end(server: RedisServer): Promise<unknown>;
  /** Of those who lock. */
  readonly password?: string;
}

/** Whom no state keeps out. */
const ADMIN = ['--user', 'admin', 'on', '>admin', '~*', '&*', '+@all'];

/** A Cluster of one. */
const CLUSTER = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'];

const lab = new Lab();
afterEach(() => lab.tidy());

/** A connection of the administrator that may be used while the server is not ready. */
const asAdmin = <T>(server: RedisServer, work: (redis: Redis) => Promise<T>): Promise<T> =>
  on(server, work, { username: 'admin', password: 'admin', enableReadyCheck: false });

const tell =
  (...command: [string, ...string[]]) =>
  (server: RedisServer): Promise<unknown> =>
    asAdmin(server, (redis) => redis.call(...command));

const set = (option: string, value: string) => tell('CONFIG', 'SET', option, value);

async function unite(server: RedisServer): Promise<void> {
  await tell('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')(server);
  await eventually(async () => expect(await tell('CLUSTER', 'INFO')(server)).toContain('cluster_state:ok'));
}

async function answersWith(server: RedisServer, word: string): Promise<void> {
  await eventually(() => expect(asAdmin(server, (redis) => redis.ping())).rejects.toThrow(word));
}

/** Where a save writes to. */
async function dumpOf(server: RedisServer): Promise<string> {
  const [, folder] = (await tell('CONFIG', 'GET', 'dir')(server)) as [string, string];
  return join(folder, 'dump.rdb');
}

async function save(server: RedisServer, outcome: 'ok' | 'err'): Promise<void> {
  await tell('BGSAVE')(server);
  await eventually(async () => {
    expect(await tell('INFO', 'persistence')(server)).toContain(`rdb_last_bgsave_status:${outcome}`);
  });
}

const FILL = "for i = 1, 3000 do redis.call('SET', 'filler:' .. i, string.rep('x', 1024)) end";
/** Restarts of servers that are still reading their data. */
const restarts = new Map<RedisServer, Promise<void>>();

const states: State[] = [
  {
    name: 'READONLY',
    reason: /^(not connected \()?READONLY /,
    passes: true,
    befall: tell('REPLICAOF', '127.0.0.1', '1'),
    end: tell('REPLICAOF', 'NO', 'ONE'),
  },
  {
    name: 'LOADING',
    reason: /^not connected \(LOADING /,
    passes: true,
    // Half a minute, but for who ends it.
    args: ['--key-load-delay', '10000', '--loading-process-events-interval-bytes', '1024'],
    befall: async (server) => {
      await tell('EVAL', FILL, '0')(server);
      await tell('SAVE')(server);
      restarts.set(server, server.restart());
      await answersWith(server, 'LOADING');
    },
    end: async (server) => {
      await set('key-load-delay', '0')(server);
      await restarts.get(server);
    },
  },
  {
    name: 'OOM',
    reason: /^OOM /,
    passes: false,
    befall: set('maxmemory', '1'),
    end: set('maxmemory', '0'),
  },
  {
    name: 'MISCONF',
    reason: /^MISCONF /,
    passes: false,
    befall: async (server) => {
      const dump = await dumpOf(server);
      await rm(dump, { force: true });
      await mkdir(dump);
      await set('save', '3600 100000')(server);
      await save(server, 'err');
    },
    end: async (server) => {
      await rmdir(await dumpOf(server));
      await save(server, 'ok');
    },
  },
  {
    name: 'NOREPLICAS',
    reason: /^NOREPLICAS /,
    passes: true,
    befall: set('min-replicas-to-write', '1'),
    end: set('min-replicas-to-write', '0'),
  },
  {
    name: 'BUSY',
    reason: /^(not connected \()?BUSY /,
    passes: true,
    befall: async (server) => {
      await set('lua-time-limit', '20')(server);
      tell('EVAL', 'while true do end', '0')(server).catch(() => undefined); // until it is killed
      await answersWith(server, 'BUSY');
    },
    end: tell('SCRIPT', 'KILL'),
  },
  {
    name: 'CLUSTERDOWN',
    reason: /^(not connected \()?CLUSTERDOWN /,
    passes: true,
    args: CLUSTER,
    befall: tell('CLUSTER', 'DELSLOTSRANGE', '0', '99'),
    end: tell('CLUSTER', 'ADDSLOTSRANGE', '0', '99'),
  },
  {
    name: 'NOAUTH',
    reason: /^not connected \(NOAUTH /,
    passes: false,
    befall: set('requirepass', 'secret'),
    end: set('requirepass', ''),
  },
  {
    name: 'WRONGPASS',
    reason: /^not connected \(WRONGPASS /,
    passes: false,
    password: 'mistyped',
    args: ['--requirepass', 'mistyped'],
    befall: set('requirepass', 'secret'),
    end: set('requirepass', 'mistyped'),
  },
  {
    name: 'NOPERM',
    reason: /^NOPERM /,
    passes: false,
    befall: tell('ACL', 'SETUSER', 'default', '-eval', '-evalsha'),
    end: tell('ACL', 'SETUSER', 'default', '+@all'),
  },
];

describe.each(states)('A node that says $name', ({ reason, passes, args = [], befall, end, password = '' }) => {
  let servers: [RedisServer, RedisServer, RedisServer];
  let pod: LockManager;
  const named = (server: RedisServer): object =>
    expect.objectContaining({ node: nameOf(server), reason: expect.stringMatching(reason) });
  const nameOf = (server: RedisServer): string => `${args === CLUSTER ? 'cluster of ' : ''}${address(server)}`;

  beforeAll(async () => {
    servers = (await lab.start(3, ...ADMIN, ...args)) as typeof servers;
    if (args === CLUSTER) await Promise.all(servers.map(unite));
  });
  afterAll(() => lab.end());

  /** Connects when the first of them are in that state. */
  async function podWith(...fallen: RedisServer[]): Promise<LockManager> {
    await Promise.all(fallen.map(befall));
    const host = '127.0.0.1';
    const clusters = (): Cluster[] => servers.map(({ port }) => lab.keep(new Cluster([{ host, port }])));
    const urls = (): string[] => servers.map(({ port }) => `redis://${password && `:${password}@`}${host}:${port}`);
    return lab.pod({ nodes: args === CLUSTER ? clusters() : urls() });
  }

  it('does not matter alone', async () => {
    const [a, b, c] = servers;
    pod = await podWith(a);
    const key = lab.key();
    const lock = await pod.acquire(key);
    await expect(pod.acquire(key)).rejects.toBeInstanceOf(LockBusyError);
    await lock.renew();
    expect(await lock.release()).toBe(true);
    await (await pod.acquire(key)).release();
    await end(a);
    await eventually(async () => {
      const later = lab.key();
      await using _ = await pod.acquire(later);
      const all = await Promise.all([a, b, c].map((server) => tell('GET', lockName(later))(server)));
      expect(new Set(all)).toEqual(new Set([expect.any(String)]));
    });
  });

  it('is named, with its majority, at once; who waits waits only if it may pass', async () => {
    const [a, b] = servers;
    pod = await podWith(a, b);
    const key = lab.key();
    const error = (await pod.acquire(key).catch((thrown: unknown) => thrown)) as LockUnavailableError;
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect([...error.causes]).toEqual(expect.arrayContaining([named(a), named(b)]));
    expect(error.causes).toHaveLength(2);
    expect(error.message).toContain(error.causes[0]!.reason);

    const waiting = pod.acquire(key, { wait: '10m' });
    if (!passes) {
      await expect(waiting).rejects.toMatchObject({ causes: expect.arrayContaining([named(a), named(b)]) });
      await expect(pod.acquire([key, lab.key()], { wait: '10m' })).rejects.toBeInstanceOf(LockUnavailableError);
    }
    await Promise.all([a, b].map(end));
    if (!passes) await eventually(async () => void (await (await pod.acquire(key)).release()));
    else expect(await (await waiting).release()).toBe(true);
  });
});

describe('A node that has too many clients', () => {
  let server: RedisServer;
  beforeEach(async () => {
    [server] = (await lab.start(1)) as [RedisServer];
  });
  afterEach(() => lab.end());

  it('is named, and lets those in who waited until others had left', async () => {
    const first = lab.keep(new Redis(server.port, '127.0.0.1'));
    await first.call('CONFIG', 'SET', 'maxclients', '1');
    const pod = await lab.pod({ nodes: [server.url] });
    await eventually(() =>
      expect(pod.acquire(lab.key())).rejects.toMatchObject({
        causes: [{ node: address(server), reason: 'not connected (ERR max number of clients reached)' }],
      }),
    );
    const waiting = pod.acquire(lab.key(), { wait: '10m' });
    await first.call('CONFIG', 'SET', 'maxclients', '100');
    expect(await (await waiting).release()).toBe(true);
  });
});

describe('A Cluster that is down', () => {
  let server: RedisServer;
  beforeEach(async () => {
    [server] = (await lab.start(1, ...ADMIN, ...CLUSTER)) as [RedisServer];
    await unite(server);
  });
  afterEach(() => lab.end());

  async function podOf(nodeTimeout: string, options: { retryDelayOnClusterDown?: number } = {}): Promise<LockManager> {
    const client = lab.keep(new Cluster([{ host: '127.0.0.1', port: server.port }], options));
    client.on('error', () => undefined);
    return lab.pod({ nodes: [client], nodeTimeout });
  }
  const fall = tell('CLUSTER', 'DELSLOTSRANGE', '0', '99');
  const rise = tell('CLUSTER', 'ADDSLOTSRANGE', '0', '99');
  const reason = async (pod: LockManager): Promise<string> =>
    pod.acquire(lab.key()).then(
      () => 'granted',
      (error: LockUnavailableError) => error.causes[0]!.reason,
    );

  it.each<[string, string, { retryDelayOnClusterDown?: number }, string]>([
    ['when an answer is overdue', '300ms', {}, 'CLUSTERDOWN The cluster is down (no answer within 300 ms)'],
    ['when its client gives up', '10s', {}, 'CLUSTERDOWN The cluster is down'],
    [
      'at once by a client that does not ask again',
      '10s',
      { retryDelayOnClusterDown: 0 },
      'CLUSTERDOWN The cluster is down',
    ],
  ])('is named %s', async (_, nodeTimeout, options, expected) => {
    const pod = await podOf(nodeTimeout, options);
    expect(await reason(pod)).toBe('granted');
    await fall(server);
    expect(await reason(pod)).toBe(expected);
    const waiting = pod.acquire(lab.key(), { wait: '10m' });
    await rise(server);
    expect(await (await waiting).release()).toBe(true);
  });

  it('is named from the start', async () => {
    await fall(server);
    const pod = await podOf('1s');
    await eventually(async () => expect(await reason(pod)).toBe('not connected (CLUSTERDOWN The cluster is down)'));
    await rise(server);
    await eventually(async () => expect(await reason(pod)).toBe('granted'));
  });
});

describe('A node whose memory is full', () => {
  let servers: [RedisServer, RedisServer, RedisServer];
  const full = set('maxmemory', '1');

  beforeAll(async () => {
    servers = (await lab.start(3, ...ADMIN)) as typeof servers;
  });
  afterEach(() => Promise.all(servers.map(set('maxmemory', '0'))));
  afterAll(() => lab.end());

  it('renews and gives back what it has', async () => {
    const pod = await lab.pod({ nodes: urls(servers) });
    const key = lab.key();
    const lock = await pod.acquire(key, { ttl: '3s' });
    await Promise.all(servers.map(full));
    await renewed(lock);
    expect(await lock.release()).toBe(true);
    await eventually(async () => expect(await owners(servers, key)).toEqual([null, null, null]));
    await expect(pod.acquire(key)).rejects.toThrow('OOM');
  });

  it('keeps what it was told to keep past its release', async () => {
    const pod = await lab.pod({ nodes: urls(servers) });
    const key = lab.key();
    const lock = await pod.acquire(key, { minHold: '10m' });
    await Promise.all(servers.map(full));
    expect(await lock.release()).toBe(true);
    for (const leftMs of await pttls(servers, key)) expect(leftMs).toBeGreaterThan(60_000);
    expect((await owners(servers, key)).every((owner) => owner?.startsWith('released/'))).toBe(true);
  });

  it('hands on to who stands in line, and lets those go who leave it', async () => {
    const [server] = servers;
    const [pod, other, third] = await Promise.all([1, 2, 3].map(() => lab.pod({ nodes: [server.url] })));
    const key = lab.key();
    const lock = await pod!.acquire(key);
    const leaving = new AbortController();
    const left = third!.acquire(key, { wait: '10m', signal: leaving.signal }).catch((reason: unknown) => reason);
    const line = (): Promise<string | null> => on(server, (redis) => redis.get(`${lockName(key)}:free`));
    const stand = async (count: number): Promise<void> =>
      eventually(async () => expect((await line())?.split(' ').filter(Boolean)).toHaveLength(count));
    await stand(1);
    const waiting = other!.acquire(key, { wait: '10m' });
    await stand(2);
    await full(server);
    leaving.abort('gone');
    expect(await left).toBe('gone');
    await stand(1);
    expect(await lock.release()).toBe(true);
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await next.release()).toBe(true);
  });
});
