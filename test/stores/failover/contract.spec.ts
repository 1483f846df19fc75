import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { LockManager } from '../../../lib/lock-manager.js';
import { systemRuntime } from '../../../lib/runtime.js';
import type { AuthorityState } from '../../../lib/stores/failover/authority.js';
import { toFailoverTerms } from '../../../lib/stores/failover/failover.options.js';
import type { FailoverStore } from '../../../lib/stores/failover/failover.store.js';
import { openFailover } from '../../../lib/stores/failover/open-failover.js';
import { connectPostgres } from '../../../lib/stores/postgres/index.js';
import { connectRedis } from '../../../lib/stores/redis/redis.store.js';
import { defineStoreContract } from '../../../lib/testing/index.js';
import { eventually } from '../../support/eventually.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { startRedisNodes, stopAll, type RedisServer } from '../../support/redis-server.js';

/** So patient that nothing changes the authority but the test. */
const TERMS = toFailoverTerms({ lease: '20s', failoverAfter: '1h', returnAfter: '1h' });

describe.each<AuthorityState>(['REDIS', 'POSTGRES', 'BOTH'])('FailoverStore on real servers, in %s', (state) => {
  let redis: RedisServer[] = [];
  let postgres: PostgresServer | undefined;
  let admin: pg.Pool | undefined;

  beforeAll(async () => {
    [redis, postgres] = await Promise.all([startRedisNodes(3), PostgresServer.start()]);
    admin = new pg.Pool({ connectionString: postgres.url, max: 1 });
    admin.on('error', () => undefined); // the server may end a session before the pool has
    const first = await open();
    await admin.query('UPDATE distributed_lock_authority SET state = $1, epoch = epoch + 1', [state]);
    await first.close();
  }, 60_000);

  afterEach(async () => {
    await eventually(async () => expect(await advisoryLocks()).toBe(0));
  });

  afterAll(async () => {
    await admin?.end();
    await Promise.all([stopAll(redis), postgres?.stop()]);
  });

  async function open(): Promise<FailoverStore> {
    const context = { ttlMs: 30_000, log: () => undefined };
    const nodes = redis.map(({ url }) => url);
    const [primary, fallback] = await Promise.all([
      connectRedis({ nodes, ...context, nodeTimeout: '5s', quarantine: 0 }),
      connectPostgres({ connection: postgres!.url, timeout: '20s', sessionTimeout: '60s' }, context),
    ]);
    return openFailover(primary, fallback, TERMS, context, systemRuntime);
  }

  async function advisoryLocks(): Promise<number> {
    const { rows } = await admin!.query(`SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory'`);
    return rows[0].n;
  }

  defineStoreContract({ test: it, createStore: open });

  it('excludes another process, and gives it a higher token afterwards', async () => {
    const [one, other] = [new LockManager(await open()), new LockManager(await open())];
    const lock = await one.acquire(['a', 'b']);
    expect(await other.tryAcquire('b')).toBeNull();
    await lock.release();
    const next = await other.acquire('b', { wait: '10s' });
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    await next.release();
    await Promise.all([one.shutdown(), other.shutdown()]);
  });

  it('is still in that state', async () => {
    const { rows } = await admin!.query('SELECT state FROM distributed_lock_authority');
    expect(rows).toEqual([{ state }]);
  });
});
