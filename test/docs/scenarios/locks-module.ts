import { describe, expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { LockManager } from 'nestjs-fenced-lock';
import { PostgresServer } from '../../support/postgres-server.js';
import { RedisServer } from '../../support/redis-server.js';
import { cleanup } from '../cleanup.js';
import type { Snippets } from '../snippets.js';

export function locksModule(snippets: Snippets): void {
  describe('the module with a fallback', () => {
    const afterwards = cleanup();
    const module = snippets.claim('class LocksModule');

    it('locks on Redis, and has Postgres ready to stand in', async () => {
      const { LocksModule } = await module.load<{ LocksModule: new () => object }>();
      const [redis, postgres] = await Promise.all([RedisServer.start(), PostgresServer.start()]);
      afterwards(() => Promise.all([redis.stop(), postgres.stop()]));
      process.env['REDIS_URL'] = redis.url;
      process.env['DATABASE_URL'] = postgres.url;
      const app = await NestFactory.createApplicationContext(LocksModule, { logger: false });
      afterwards(() => app.close());

      const lock = await app.get(LockManager).acquire('job:billing');
      expect(lock.held).toBe(true);
      expect(await app.get(LockManager).inspect('job:billing')).toMatchObject({
        locked: true,
        fencingToken: lock.fencingToken,
      });
      expect(await lock.release()).toBe(true);
    });
  });
}
