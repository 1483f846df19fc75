import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { Redis as Valkey } from 'iovalkey';
import { LockBusyError, LockUnavailableError } from '../../lib/errors.js';
import type { LockManager } from '../../lib/lock-manager.js';
import type { RedisNodeEntry } from '../../lib/stores/redis/redis-client.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import type { RedisServer } from '../support/redis-server.js';
import { address, fences, Lab, on, owners, urls } from './lab.js';

const lab = new Lab();
let servers: RedisServer[];
const NONE = [null, null, null];
const CONNECTION_NAME = 'nestjs-fenced-lock';

beforeAll(async () => {
  servers = await lab.start(3);
});
afterEach(() => lab.tidy());
afterAll(() => lab.end());

/** The connections that the module itself opened on a server. */
async function ownConnections(server: RedisServer): Promise<string[]> {
  const list = (await on(server, (redis) => redis.call('CLIENT', 'LIST'))) as string;
  return list.split('\n').filter((line) => line.includes(` name=${CONNECTION_NAME} `));
}

async function failure(attempt: Promise<unknown>): Promise<LockUnavailableError> {
  const error = await attempt.then(
    () => new Error('it was granted'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(LockUnavailableError);
  return error as LockUnavailableError;
}

async function expectLocking(pod: LockManager, other: LockManager): Promise<void> {
  const key = lab.key();
  const lock = await pod.acquire(key);
  expect(new Set(await owners(servers, key)).size).toBe(1);
  await expect(other.acquire(key)).rejects.toBeInstanceOf(LockBusyError);
  await lock.renew();
  expect(await lock.release()).toBe(true);
  await eventually(async () => expect(await owners(servers, key)).toEqual(NONE));
  await using next = await other.acquire(key);
  expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
}

describe('An entry of `nodes`', () => {
  const own: [string, (server: RedisServer) => RedisNodeEntry][] = [
    ['a URL', ({ url }) => url],
    ['ioredis options', ({ port }) => ({ host: '127.0.0.1', port })],
  ];
  const clients: [string, (server: RedisServer) => RedisNodeEntry & { status: string; ping(): Promise<string> }][] = [
    ['a client of ioredis 6', ({ port }) => lab.keep(new Redis(port, '127.0.0.1'))],
    ['a client of ioredis 5', ({ port }) => lab.keep(new Redis5(port, '127.0.0.1'))],
    ['a client of iovalkey', ({ port }) => lab.keep(new Valkey(port, '127.0.0.1'))],
    ['a client that has not connected yet', ({ port }) => lab.keep(new Redis(port, { lazyConnect: true }))],
  ];

  it.each(own)('can be %s; the connection is closed with the manager', async (_, entry) => {
    const pod = await lab.pod({ nodes: servers.map(entry) });
    expect(await Promise.all(servers.map(ownConnections))).toEqual(servers.map(() => [expect.any(String)]));
    await expectLocking(pod, await lab.pod({ nodes: urls(servers) }));
    await lab.tidy();
    await eventually(async () => expect(await Promise.all(servers.map(ownConnections))).toEqual([[], [], []]));
  });

  it.each(clients)('can be %s, which is never closed', async (_, entry) => {
    const nodes = servers.map(entry);
    const pod = await lab.pod({ nodes });
    await expectLocking(pod, await lab.pod({ nodes: urls(servers) }));
    expect(await Promise.all(servers.map(ownConnections))).toEqual(servers.map(() => [expect.any(String)]));
    await pod.shutdown(1000);
    expect(await Promise.all(nodes.map(async (client) => client.ping()))).toEqual(['PONG', 'PONG', 'PONG']);
    expect(nodes.map(({ status }) => status)).toEqual(['ready', 'ready', 'ready']);
  });

  it('can be of another form than its neighbours', async () => {
    const [a, b, c] = servers as [RedisServer, RedisServer, RedisServer];
    const nodes = [a.url, { port: b.port }, lab.keep(new Redis5(c.port))];
    await expectLocking(await lab.pod({ nodes }), await lab.pod({ nodes: urls(servers) }));
  });
});

describe("A user's client", () => {
  it('that is not ready counts as a failed node, and nothing waits in its offline queue', async () => {
    const [a, b, c] = servers as [RedisServer, RedisServer, RedisServer];
    await c.kill();
    const client = lab.keep(new Redis(c.port, '127.0.0.1', { retryStrategy: () => 50, maxRetriesPerRequest: null }));
    client.on('error', () => undefined);
    const pod = await lab.pod({ nodes: [a.url, b.url, client] });
    const key = lab.key();
    const lock = await pod.acquire(key);
    await lock.release();
    const attempted = lab.key();
    await a.kill();
    const error = await failure(pod.acquire(attempted));
    expect(error.causes).toEqual([
      { node: address(a), reason: expect.stringMatching(/^(not connected|connection lost)/) },
      { node: address(c), reason: expect.stringMatching(/^(not connected|connection lost)/) },
    ]);
    await Promise.all([a.restart(), c.restart()]);
    await eventually(async () => {
      const later = lab.key();
      await using _ = await pod.acquire(later);
      expect(await owners([c], later)).toEqual([expect.any(String)]);
    });
    expect(await fences([c], key)).toEqual([null]);
    expect(await fences([a, c], attempted)).toEqual([null, null]);
  });

  it('that its owner has closed is left closed', async () => {
    const [a, b, c] = servers as [RedisServer, RedisServer, RedisServer];
    const client = lab.keep(new Redis(c.port, '127.0.0.1'));
    const pod = await lab.pod({ nodes: [a.url, b.url, client] });
    await client.quit();
    const key = lab.key();
    await using _ = await pod.acquire(key);
    expect(await owners(servers, key)).toEqual([expect.any(String), expect.any(String), null]);
    expect(client.status).toBe('end');
  });
});

describe('A password-protected node', () => {
  let locked: RedisServer;
  const withUser = (user: string, password: string): string => `redis://${user}:${password}@${address(locked)}`;
  const acl = (...rules: string[]): Promise<unknown> => {
    const admin = new Redis(locked.port, '127.0.0.1', { password: 'top secret' });
    return admin.call('ACL', 'SETUSER', ...rules).finally(() => admin.disconnect());
  };

  beforeAll(async () => {
    [locked] = (await lab.start(1, '--requirepass', 'top secret')) as [RedisServer];
    const commands = ['+eval', '+evalsha', '+set', '+get', '+del', '+pttl', '+pexpire', '+publish', '+time', '+info'];
    await acl('locker', 'on', '>hidden', '~lock:*', '&lock:*', ...commands);
    await acl('reader', 'on', '>hidden', '~lock:*', '+get', '+info');
    await acl('stranger', 'on', '>hidden', '~other:*', '+@all');
  });

  it.each<[string, () => RedisNodeEntry]>([
    ['the password in the URL', () => withUser('', encodeURIComponent('top secret'))],
    ['a user in the URL who may do little else', () => withUser('locker', 'hidden')],
    ['user and password in the options', () => ({ port: locked.port, username: 'locker', password: 'hidden' })],
  ])('serves with %s', async (_, node) => {
    const pod = await lab.pod({ nodes: [node()] });
    const key = lab.key();
    const lock = await pod.acquire(key);
    await expect(pod.acquire(key)).rejects.toBeInstanceOf(LockBusyError);
    await lock.renew();
    expect(await lock.release()).toBe(true);
    await using _next = await pod.acquire(key);
  });

  it.each<[string, string, () => string]>([
    ['no password', 'NOAUTH', () => `redis://${address(locked)}`],
    ['a wrong password', 'WRONGPASS', () => withUser('locker', 'mistyped')],
    ['a user who may not run scripts', 'NOPERM', () => withUser('reader', 'hidden')],
    ['a user who may not touch the keys', 'NOPERM', () => withUser('stranger', 'hidden')],
  ])('with %s is a cause that says %s, and not the password', async (_, reason, url) => {
    const pod = await lab.pod({ nodes: [url()] });
    const error = await failure(pod.acquire(lab.key()));
    expect(error.causes).toEqual([{ node: address(locked), reason: expect.stringContaining(reason), lasting: true }]);
    expect(error.message).toContain(`${address(locked)}: `);
    expect(error.message).not.toMatch(/mistyped|hidden/);
  });
});

describe('A node that became a replica', () => {
  const tell = (server: RedisServer, ...primary: [string, string]): Promise<unknown> =>
    on(server, (redis) => redis.call('REPLICAOF', ...primary));

  afterEach(() => tell(servers[0]!, 'NO', 'ONE'));

  it.each([1, 2])('is connected anew when asked for %i keys: its address may lead elsewhere by then', async (count) => {
    const keys = Array.from({ length: count }, () => lab.key());
    const [server] = servers as [RedisServer];
    const pod = await lab.pod({ nodes: [server.url] });
    const id = (line: string | undefined): string | undefined => /^id=\d+/.exec(line ?? '')?.[0];
    const before = id((await ownConnections(server))[0]);
    await tell(server, '127.0.0.1', '1');
    expect((await failure(pod.acquire(keys))).causes[0]?.reason).toContain('READONLY');
    await eventually(async () => {
      const after = id((await ownConnections(server))[0]);
      expect(after).toBeDefined();
      expect(after).not.toBe(before);
    });
    await tell(server, 'NO', 'ONE');
    await eventually(async () => void (await (await pod.acquire(lab.key())).release()));
  });
});

describe('A port where no Redis listens', () => {
  it('is named with its refusal, in the error and in the log', async () => {
    const port = await freePort();
    const log: string[] = [];
    const pod = await lab.pod({ nodes: [`redis://127.0.0.1:${port}`], log: (message) => log.push(message) });
    const error = await failure(pod.acquire(lab.key()));
    expect(error.causes).toEqual([{ node: `127.0.0.1:${port}`, reason: expect.stringContaining('ECONNREFUSED') }]);
    expect(log).toEqual([expect.stringContaining(`127.0.0.1:${port} is out of reach`)]);
  });
});
