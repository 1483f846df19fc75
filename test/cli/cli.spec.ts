import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockManager } from '../../lib/lock-manager.js';
import { connectPostgres } from '../../lib/stores/postgres/index.js';
import { connectRedis } from '../../lib/stores/redis/redis.store.js';
import { eventually } from '../support/eventually.js';
import { isAlive } from '../support/managed-process.js';
import { PostgresServer } from '../support/postgres-server.js';
import { startRedisNodes, stopAll, type RedisServer } from '../support/redis-server.js';
import { CliRun } from './cli-run.js';

const WORK = 'test/cli/fixtures/work.mjs';
const work = (...args: string[]): string[] => ['--', process.execPath, WORK, ...args];

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function start(args: string[], env: Record<string, string> = {}): Promise<CliRun> {
  const run = await CliRun.start(args, env);
  ends.push(() => run.kill());
  return run;
}

/** Runs to its end: what it said, and its exit code. */
async function cli(args: string[], env: Record<string, string> = {}): Promise<{ code: number | null; said: string }> {
  const run = await start(args, env);
  const { code } = await run.exited;
  return { code, said: run.output };
}

describe.each([1, 3])('The command line, on %i Redis', (count) => {
  let servers: RedisServer[] = [];
  let env: Record<string, string> = {};
  beforeAll(async () => {
    servers = await startRedisNodes(count);
    env = { REDIS_NODES: servers.map(({ url }) => url).join(',') };
  });
  afterAll(() => stopAll(servers));

  async function pod(): Promise<LockManager> {
    const nodes = servers.map(({ url }) => url);
    const store = await connectRedis({ nodes, ttlMs: 30_000, nodeTimeout: '5s', quarantine: 0 });
    const locks = new LockManager(store);
    ends.push(() => locks.shutdown(500));
    return locks;
  }

  const under = (key: string, ...options: string[]): string[] => [
    'run',
    key,
    '--quarantine',
    '0',
    '--node-timeout',
    '5s',
    ...options,
  ];

  it('lists locks for people and for programs, shows one, and takes it back', async () => {
    const locks = await pod();
    const lock = await locks.acquire('job:a', { ttl: '60s' });
    const other = await locks.acquire('other');
    const shown = await cli(['ls', '--prefix', 'job:'], env);
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.said).toMatch(/^KEY .*\njob:a .*\n$/);
    expect(shown.said).toContain(String(lock.fencingToken));

    const { said } = await cli(['ls', '--json'], env);
    const listed = said
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(listed.map(({ key }) => key).sort()).toEqual(['job:a', 'other']);
    expect(listed.find(({ key }) => key === 'job:a')).toMatchObject({ locked: true, pid: process.pid });

    const inspected = await cli(['inspect', 'job:a', '--json'], env);
    expect(inspected.code).toBe(0);
    expect(JSON.parse(inspected.said)).toMatchObject({ key: 'job:a', fencingToken: lock.fencingToken });
    expect(await cli(['inspect', 'nothing'], env)).toMatchObject({ code: 1 });

    const unasked = await cli(['release', 'job:a'], env);
    expect(unasked).toMatchObject({ code: 64, said: expect.stringContaining('--yes') });
    expect((await locks.inspect('job:a')).locked).toBe(true);
    expect(await cli(['release', 'job:a', '--yes'], env)).toMatchObject({ code: 0 });
    expect((await locks.inspect('job:a')).locked).toBe(false);
    expect(await cli(['release', 'job:a', '--yes'], env)).toMatchObject({ code: 1 });
    expect(await lock.renew().catch(({ reason }: { reason: string }) => reason)).toBe('taken');
    await other.release();
  });

  it('runs a command under a lock, which has its token and its key, and ends with its exit code', async () => {
    const locks = await pod();
    const before = await locks.acquire('job:run');
    await before.release();
    const { code, said } = await cli(under('job:run', ...work('exit', '7')), env);
    expect(code).toBe(7);
    const [, token] = /token (\d+) key job:run/.exec(said)!;
    expect(Number(token)).toBeGreaterThan(before.fencingToken);
    expect((await locks.inspect('job:run')).locked).toBe(false);
    expect(await cli(under('job:run', ...work('die', 'SIGKILL')), env)).toMatchObject({ code: 128 + 9 });
    const unknown = await cli(under('job:run', '--', 'no-such-command'), env);
    expect(unknown).toMatchObject({ code: 127, said: expect.stringContaining('no-such-command') });
    expect(await cli(under('job:run', '--', './README.md'), env)).toMatchObject({ code: 126 });
    expect((await locks.inspect('job:run')).locked).toBe(false);
  });

  it('renews for as long as the command is at work, and refuses another one meanwhile', async () => {
    const run = await start(under('job:long', '--ttl', '600ms', ...work('wait')), env);
    await run.said('at work');
    const locks = await pod();
    const first = await locks.inspect('job:long');
    expect(first).toMatchObject({ locked: true, pid: run.pid });
    await eventually(() => expect(Date.now() - first.since!.getTime()).toBeGreaterThan(1500));
    expect((await locks.inspect('job:long')).owner).toBe(first.owner);
    expect(await cli(under('job:long', ...work('exit', '0')), env)).toMatchObject({ code: 75 });
    const next = start(under('job:long', '--wait', '30s', ...work('exit', '0')), env);
    run.signal('SIGTERM');
    expect(await run.exited).toMatchObject({ code: 0 });
    expect(run.output).toContain('told SIGTERM');
    expect((await (await next).exited).code).toBe(0);
  });

  it('ends the command when the lock is lost, and all that it started', async () => {
    const run = await start(under('job:lost', '--ttl', '900ms', '--grace', '300ms', ...work('child')), env);
    await run.said(/at work[^]*at work/);
    const pids = [...run.output.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
    expect(pids).toHaveLength(2);
    expect(await (await pod()).forceRelease('job:lost')).toBe(true);
    expect(await run.exited).toMatchObject({ code: 70 });
    expect(run.output).toContain('told SIGTERM');
    expect(run.output).toContain('ignored SIGTERM');
    expect(run.output).toMatch(/lost/);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it('ends the command, too, when it is killed itself; the key is free once its ttl is over', async () => {
    const run = await start(under('job:killed', '--ttl', '2s', '--grace', '1s', ...work('child')), env);
    await run.said(/at work[^]*at work/);
    const pids = [...run.output.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
    await run.kill();
    const locks = await pod();
    const lock = await locks.acquire('job:killed', { wait: '30s' });
    expect(lock.held).toBe(true);
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]));
    await lock.release();
  });

  it('leaves alone what a command leaves behind on purpose', async () => {
    const left = '(trap "echo told SIGTERM; exit" TERM; sleep 1; echo came to its end) &';
    const run = await start(under('job:starter', '--', '/bin/sh', '-c', left), env);
    expect((await run.exited).code).toBe(0);
    await run.said(/told SIGTERM|came to its end/);
    expect(run.output).not.toContain('told SIGTERM');
  });

  it('passes SIGINT on, and gives up waiting when it is told to', async () => {
    const run = await start(under('job:signal', ...work('interrupt')), env);
    await run.said('at work');
    const waiting = await start(under('job:signal', '--wait', '1h', ...work('exit', '0')), env);
    const locks = await pod();
    if (count === 1) {
      await eventually(async () => expect(await locks.inspect('job:signal')).toMatchObject({ waiters: 1 }));
    } else {
      // Several keep no line; whoever waits listens.
      const redis = new Redis(servers[0]!.port, '127.0.0.1');
      ends.push(() => redis.disconnect());
      await eventually(async () => expect((await redis.pubsub('NUMSUB', 'lock:{job:signal}:free'))[1]).toBe(1));
    }
    waiting.signal('SIGTERM');
    expect(await waiting.exited).toMatchObject({ code: 128 + 15 });
    expect(waiting.output).not.toContain('token');
    run.signal('SIGINT');
    expect(await run.exited).toMatchObject({ code: 3 });
    expect((await locks.inspect('job:signal')).locked).toBe(false);
  });

  it('keeps the key for as long as the command may hold it, and no longer', async () => {
    const run = await start(under('job:max', '--max-hold', '700ms', '--grace', '0', ...work('wait')), env);
    expect(await run.exited).toMatchObject({ code: 70 });
    const { code } = await cli(under('job:min', '--min-hold', '60s', ...work('exit', '0')), env);
    expect(code).toBe(0);
    expect(await (await pod()).inspect('job:min')).toMatchObject({ locked: true, released: true });
  });
});

describe('The command line', () => {
  it('says how it is used', async () => {
    expect(await cli(['--help'])).toMatchObject({ code: 0, said: expect.stringContaining('Exit codes') });
    expect(await cli([])).toMatchObject({ code: 64 });
    expect(await cli(['ls'], { REDIS_NODES: '', DATABASE_URL: '' })).toMatchObject({ code: 64 });
    expect(await cli(['ls', '--node', 'redis://127.0.0.1:1', '--node', 'redis://127.0.0.1:2'])).toMatchObject({
      code: 64,
    });
  });

  it('tells a store out of reach from a free key, and shows no password', async () => {
    const [server] = await startRedisNodes(1, { args: ['--requirepass', 'right-password'] });
    ends.push(() => server!.stop());
    const wrong = `redis://:wrong-password@127.0.0.1:${server!.port}`;
    const refused = await cli(['ls', '--node', wrong]);
    expect(refused).toMatchObject({ code: 69, said: expect.stringContaining(`127.0.0.1:${server!.port}`) });
    expect(refused.said).not.toContain('password@');
    expect(refused.said).not.toContain('wrong-password');
    const right = `redis://:right-password@127.0.0.1:${server!.port}`;
    expect(await cli(['ls', '--node', right])).toMatchObject({ code: 0, said: 'No locks.\n' });
    await server!.kill();
    const run = await cli(['run', 'a', '--node', right, ...work('exit', '0')]);
    expect(run.code).toBe(69);
    expect(run.said).not.toMatch(/right-password|token/);
    const database = await cli(['inspect', 'a'], { DATABASE_URL: 'postgres://someone:secret-one@127.0.0.1:1/app' });
    expect(database.code).toBe(69);
    expect(database.said).not.toContain('secret-one');
  });

  it('leaves nothing on a node that it only looks at', async () => {
    const servers = await startRedisNodes(3);
    ends.push(() => stopAll(servers));
    const nodes = servers.flatMap(({ url }) => ['--node', url]);
    await cli(['ls', ...nodes]);
    await cli(['inspect', 'a', ...nodes]);
    await cli(['release', 'a', '--yes', ...nodes]);
    for (const { port } of servers) {
      const redis = new Redis(port, '127.0.0.1');
      expect(await redis.dbsize()).toBe(0);
      redis.disconnect();
    }
  });

  describe('with PostgreSQL', () => {
    let postgres: PostgresServer | undefined;
    beforeAll(async () => void (postgres = await PostgresServer.start()), 60_000);
    afterAll(() => postgres?.stop());

    it('looks, takes back, and runs', async () => {
      const env = { DATABASE_URL: postgres!.url };
      expect(await cli(['ls'], env)).toMatchObject({ code: 64, said: expect.stringContaining('createTables') });
      const locks = new LockManager(await connectPostgres(postgres!.url));
      ends.push(() => locks.shutdown(500));
      const lock = await locks.acquire('job:a');
      expect(await cli(['ls'], env)).toMatchObject({ code: 0, said: expect.stringContaining('job:a') });
      expect(await cli(['run', 'job:a', ...work('exit', '0')], env)).toMatchObject({ code: 75 });
      expect(await cli(['release', 'job:a', '--yes'], env)).toMatchObject({ code: 0 });
      expect(lock.held && (await lock.renew().catch(() => false))).toBe(false);
      expect(await cli(['run', 'job:a', ...work('exit', '5')], env)).toMatchObject({ code: 5 });
    });

    it('stands in for Redis as in the application, if told so', async () => {
      const [redis] = await startRedisNodes(1);
      ends.push(() => redis!.stop());
      const env = { DATABASE_URL: postgres!.url, REDIS_NODES: redis!.url };
      expect(await cli(['run', 'job:b', '--fallback', ...work('exit', '4')], env)).toMatchObject({ code: 4 });
      expect(await cli(['ls', '--fallback'], env)).toMatchObject({ code: 0, said: 'No locks.\n' });
      const client = new Redis(redis!.port, '127.0.0.1');
      expect(await client.exists('lock:{job:b}:fence')).toBe(1);
      client.disconnect();
    });
  });
});
