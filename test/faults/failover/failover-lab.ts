import pg from 'pg';
import { connectRedis } from '../../../lib/stores/redis/redis.store.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { startRedisNodes, stopAll, type RedisServer } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { Ledger } from './ledger.js';
import type { Lines } from './pod-process.js';

const NODES = 3;

/** The servers that all cases share. */
export class FailoverLab {
  private constructor(
    readonly redis: readonly RedisServer[],
    /** It keeps the authority row, and stands in for Redis. */
    readonly postgres: PostgresServer,
    /** What the locks protect; no fault befalls it. */
    readonly database: PostgresServer,
    readonly admin: pg.Pool,
    readonly ledger: Ledger,
    private readonly ledgerPool: pg.Pool,
  ) {}

  static async start(): Promise<FailoverLab> {
    const [redis, postgres, database] = await Promise.all([
      startAgedNodes(),
      PostgresServer.start(),
      PostgresServer.start({ args: ['-c', 'max_connections=50'] }),
    ]);
    const admin = pool(postgres);
    const ledgerPool = pool(database);
    const ledger = new Ledger(ledgerPool);
    await ledger.create();
    return new FailoverLab(redis, postgres, database, admin, ledger, ledgerPool);
  }

  async lines(): Promise<Lines> {
    const [redis, postgres] = await Promise.all([
      Promise.all(this.redis.map(({ port }) => TcpProxy.start(port))),
      TcpProxy.start(this.postgres.port),
    ]);
    return { redis, postgres };
  }

  /** After each case: the servers are well, and nothing of it is left in them. */
  async tidy(): Promise<void> {
    this.postgres.thaw();
    if (!this.postgres.running) await this.postgres.restart();
    for (const server of this.redis) {
      server.thaw();
      if (!server.running) await server.restart();
    }
    // The longest lease and ttl stand in the row for good, and would stretch the next case.
    await this.admin.query('DROP TABLE IF EXISTS distributed_lock_authority, distributed_lock_pod');
  }

  async advisoryLocks(): Promise<number> {
    const { rows } = await this.admin.query(`SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory'`);
    return rows[0].n;
  }

  /** How many lock sessions the server has. */
  async sessions(): Promise<number> {
    const { rows } = await this.admin.query(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'nestjs-fenced-lock'`,
    );
    return rows[0].n;
  }

  /** How many pods report that Redis has been out of reach for long enough. */
  async podsWithoutRedis(): Promise<number> {
    const { rows } = await this.admin.query(
      `SELECT count(*)::int AS n FROM distributed_lock_pod WHERE redis = 'down' AND counts_until > clock_timestamp()`,
    );
    return rows[0].n;
  }

  async stop(): Promise<void> {
    await Promise.all([this.admin.end(), this.ledgerPool.end()]);
    await Promise.all([stopAll([...this.redis]), this.postgres.stop(), this.database.stop()]);
  }
}

/** Nodes that were marked before the pods come, so that these need not wait for a quarantine of fresh nodes. */
async function startAgedNodes(): Promise<RedisServer[]> {
  const servers = await startRedisNodes(NODES);
  const store = await connectRedis({ nodes: servers.map(({ url }) => url), ttlMs: 1000, quarantine: '1ms' });
  await store.acquire('mark', 'nobody', 100).catch(() => undefined);
  await store.close();
  return servers;
}

function pool({ url }: PostgresServer): pg.Pool {
  const made = new pg.Pool({ connectionString: url, max: 3 });
  made.on('error', () => undefined); // a server that a case ends
  return made;
}
