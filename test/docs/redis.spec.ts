import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { Redis, type Cluster } from 'ioredis';
import { LockManager } from 'nestjs-fenced-lock';
import { OLDEST_VERSION } from '../../lib/stores/redis/server-facts.js';
import { LEAST_RULES } from '../support/least-user.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { RedisSentinel } from '../support/redis-sentinel.js';
import { cleanup } from './cleanup.js';
import { root, typeErrors } from './compiler.js';
import { tables } from './markdown.js';
import { Snippets } from './snippets.js';

const text = readFileSync(join(root, 'docs/redis.md'), 'utf8');
const snippets = new Snippets(text, join(root, 'test/tmp'));
const rowsOf = (first: string): readonly (readonly string[])[] =>
  tables(text).find(({ head }) => head[0] === first)!.rows;

describe('The page on Redis', () => {
  const afterwards = cleanup();

  beforeAll(() => snippets.write());
  afterAll(() => snippets.remove());

  it('has snippets that type-check', () => {
    expect(typeErrors([...snippets.paths])).toEqual([]);
  }, 120_000);

  it('says of each command of the least user what it is for', () => {
    const commands = rowsOf('command').flatMap(([cell]) => [...cell!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!));
    const given = LEAST_RULES.filter((rule) => rule.startsWith('+')).map((rule) => rule.slice(1));
    expect(commands.map((name) => name.replace('\\|', '|')).sort()).toEqual([...given].sort());
  });

  it('names the oldest version, as the README does, and the versions of the clients that are tried', () => {
    expect(text).toContain(`Redis older than ${OLDEST_VERSION}`);
    expect(text).toContain(`Redis ${OLDEST_VERSION} or later`);
    expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(`Redis ${OLDEST_VERSION} or later`);
    for (const client of ['ioredis', 'ioredis5', 'iovalkey']) {
      const { version } = JSON.parse(readFileSync(join(root, 'node_modules', client, 'package.json'), 'utf8')) as {
        version: string;
      };
      expect(text).toContain(version);
    }
  });

  async function expectLocking(module: new () => object): Promise<LockManager> {
    const app = await NestFactory.createApplicationContext(module, { logger: false });
    afterwards(() => app.close());
    const locks = app.get(LockManager);
    const lock = await locks.acquire('job:billing');
    expect(await locks.tryAcquire('job:billing')).toBeNull();
    expect(await lock.release()).toBe(true);
    return locks;
  }

  it('shows a module that locks behind a Sentinel, and goes on after a failover', async () => {
    const sentinel = await RedisSentinel.start({ password: 'secret' });
    afterwards(() => sentinel.stop());
    Object.assign(process.env, {
      SENTINEL_HOST: '127.0.0.1',
      SENTINEL_PORT: String(sentinel.port),
      REDIS_PASSWORD: 'secret',
    });
    const { SentinelLocksModule } = await snippets
      .claim('class SentinelLocksModule')
      .load<{ SentinelLocksModule: new () => object }>();
    const locks = await expectLocking(SentinelLocksModule);
    await using lock = await locks.acquire('job:long', { ttl: '60s' });
    await sentinel.failOver();
    const { port } = await sentinel.primary();
    const primary = new Redis(port, '127.0.0.1', { password: 'secret' });
    afterwards(async () => primary.disconnect());
    expect(await primary.get('lock:{job:long}')).not.toBeNull();
    expect(lock.held).toBe(true);
  }, 60_000);

  it('shows a module that locks on a Cluster', async () => {
    const cluster = await RedisCluster.start();
    afterwards(() => cluster.stop());
    process.env['REDIS_CLUSTER'] = cluster.servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const { ClusterLocksModule, cluster: client } = await snippets
      .claim('class ClusterLocksModule')
      .load<{ ClusterLocksModule: new () => object; cluster: Cluster }>();
    afterwards(async () => client.disconnect());
    await expectLocking(ClusterLocksModule);
  }, 60_000);
});
