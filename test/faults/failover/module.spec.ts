import 'reflect-metadata';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, type LoggerService } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import pg from 'pg';
import { DistributedLockModule } from '../../../lib/distributed-lock.module.js';
import { LockUnavailableError } from '../../../lib/errors.js';
import { FencingToken } from '../../../lib/fencing-token.decorator.js';
import { LockManager } from '../../../lib/lock-manager.js';
import type { AuthorityChange } from '../../../lib/stores/failover/failover.options.js';
import { postgres } from '../../../lib/stores/postgres/index.js';
import { WithLock } from '../../../lib/with-lock.decorator.js';
import { eventually } from '../../support/eventually.js';
import { expectNoTimers, TimerWatch } from '../../support/leaks.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { startRedisNodes, stopAll, type RedisServer } from '../../support/redis-server.js';

@Injectable()
class Billing {
  @WithLock('job:billing')
  async bill(@FencingToken() token?: number): Promise<number> {
    return token!;
  }
}

describe('DistributedLockModule.forRoot({ nodes, fallback, failover })', () => {
  let redis: RedisServer[] = [];
  let server: PostgresServer | undefined;
  let app: TestingModule | undefined;

  beforeAll(async () => {
    [redis, server] = await Promise.all([startRedisNodes(1), PostgresServer.start()]);
  }, 60_000);

  afterEach(() => app?.close());

  afterAll(async () => {
    await Promise.all([stopAll(redis), server?.stop()]);
  });

  async function start(log: string[], onAuthorityChange?: (change: AuthorityChange) => void): Promise<TestingModule> {
    const say = (line: unknown): void => void log.push(String(line));
    const logger: LoggerService = { log: () => undefined, warn: say, error: say };
    const locks = DistributedLockModule.forRoot({
      nodes: redis.map(({ url }) => url),
      fallback: postgres(server!.url),
      failover: {
        lease: '400ms',
        failoverAfter: '1s',
        returnAfter: '200ms',
        ...(onAuthorityChange && { onAuthorityChange }),
      },
      defaults: { ttl: '1s' },
    });
    app = await Test.createTestingModule({ imports: [locks], providers: [Billing] })
      .setLogger(logger)
      .compile();
    return app.init();
  }

  it('runs decorated methods on while Redis is away, with rising tokens, and tells of each change', async () => {
    const log: string[] = [];
    const changes: AuthorityChange[] = [];
    const billing = (await start(log, (change) => void changes.push(change))).get(Billing);
    const tokens = [await billing.bill()];
    for (const [bring, state] of [
      [() => redis[0]!.kill(), 'POSTGRES'],
      [() => redis[0]!.restart(), 'REDIS'],
    ] as const) {
      await bring();
      await eventually(async () => {
        expect(changes.at(-1)?.to).toBe(state);
        tokens.push(await billing.bill());
      });
    }
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(changes.map(({ to }) => to)).toEqual(['REDIS', 'DRAINING', 'POSTGRES', 'BOTH', 'REDIS']);
    for (const { to, epoch, reason } of changes.slice(1)) {
      expect(log).toContain(`Locks are now decided by ${to} (epoch ${epoch}): ${reason}`);
    }
  }, 60_000);

  it('tells callers that locks are unavailable while it moves, and what to do', async () => {
    const billing = (await start([])).get(Billing);
    await redis[0]!.kill();
    try {
      const said = new Set<string>();
      await eventually(async () => {
        const error: unknown = await billing.bill().catch((reason: unknown) => reason);
        if (error instanceof LockUnavailableError) said.add(error.message);
        expect([...said].join('\n')).toMatch(/moving from one store to the other .*try again in 2 s/);
      });
    } finally {
      await redis[0]!.restart();
    }
  });

  it('leaves neither timers nor sessions behind when the application closes', async () => {
    const watch = new TimerWatch();
    const locks = (await start([])).get(LockManager);
    const lock = await locks.acquire('k', { wait: '20s' });
    await lock.release();
    await app!.close();
    app = undefined;
    await expectNoTimers(watch, '/lib/');
    watch.stop();
    const admin = new pg.Client(server!.url);
    await admin.connect();
    const sessions = `SELECT pid FROM pg_stat_activity WHERE application_name = 'nestjs-fenced-lock'`;
    await eventually(async () => expect((await admin.query(sessions)).rows).toEqual([]));
    await admin.end();
  });
});
