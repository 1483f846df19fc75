import { Redis } from 'ioredis';
import pg from 'pg';
import { PostgresServer } from '../../support/postgres-server.js';
import { startRedisNodes, stopAll, type RedisServer } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { on } from '../lab.js';
import { Ledger } from './ledger.js';
import type { Lines } from './worker-process.js';

const MARKER = 'lock:marker';
const NODES = 5;

/** The servers that all trials share. */
export class Stage {
  private constructor(
    readonly redis: readonly RedisServer[],
    /** It keeps locks. */
    readonly postgres: PostgresServer,
    /** What the locks protect; no fault befalls it. */
    readonly database: PostgresServer,
    readonly admin: pg.Pool,
    readonly ledger: Ledger,
    private readonly ledgerPool: pg.Pool,
  ) {}

  static async start(nodes = NODES): Promise<Stage> {
    const [redis, postgres, database] = await Promise.all([
      startRedisNodes(nodes),
      PostgresServer.start(),
      PostgresServer.start({ args: ['-c', 'max_connections=60'] }),
    ]);
    const [admin, ledgerPool] = [pool(postgres), pool(database)];
    const ledger = new Ledger(ledgerPool);
    await ledger.create();
    return new Stage(redis, postgres, database, admin, ledger, ledgerPool);
  }

  async lines(nodes: readonly RedisServer[]): Promise<Lines> {
    const [redis, postgres] = await Promise.all([
      Promise.all(nodes.map(({ port }) => TcpProxy.start(port))),
      TcpProxy.start(this.postgres.port),
    ]);
    return { redis, postgres };
  }

  /** Everything is well, nothing is left of the trial before, and no node has to sit out a quarantine. */
  async tidy(others: readonly RedisServer[] = []): Promise<void> {
    this.postgres.thaw();
    if (!this.postgres.running) await this.postgres.restart();
    await Promise.all(
      [...new Set([...this.redis, ...others])].map(async (server) => {
        server.thaw();
        if (!server.running) await server.restart();
        await on(server, async (redis) => {
          await redis.flushall();
          await redis.set(MARKER, '1');
        });
      }),
    );
    await this.admin.query('DROP TABLE IF EXISTS distributed_lock_authority, distributed_lock_pod');
  }

  /** Keys that keep somebody out of this one, or of one whose name begins so. */
  async lockKeys(nodes: readonly RedisServer[], key: string): Promise<string[]> {
    const all = (await this.#keys(nodes)).map(({ name }) => name);
    return all.filter((name) => name.includes(key) && !/:(fence|free)$/.test(name));
  }

  async keysWithoutTtl(nodes: readonly RedisServer[]): Promise<string[]> {
    return (await this.#keys(nodes)).filter(({ ttl }) => ttl === -1).map(({ name }) => name);
  }

  /** Those of live sessions. */
  async advisoryLocks(): Promise<string[]> {
    const sql = `SELECT mode, objid::text FROM pg_locks WHERE locktype = 'advisory'`;
    const { rows } = await this.admin.query<{ mode: string; objid: string }>(sql);
    return rows.map(({ mode, objid }) => `advisory lock ${objid}, ${mode}`);
  }

  async stop(): Promise<void> {
    await Promise.all([this.admin.end(), this.ledgerPool.end()]);
    await Promise.all([stopAll([...this.redis]), this.postgres.stop(), this.database.stop()]);
  }

  async #keys(nodes: readonly RedisServer[]): Promise<{ name: string; ttl: number }[]> {
    const perNode = nodes.map((node) => on(node, keysOf));
    return (await Promise.all(perNode)).flat().filter(({ name }) => name !== MARKER);
  }
}

async function keysOf(redis: Redis): Promise<{ name: string; ttl: number }[]> {
  const names = await redis.keys('*');
  const ttls = await Promise.all(names.map((name) => redis.pttl(name)));
  // One that is gone by now has ended by itself.
  return names.map((name, index) => ({ name, ttl: ttls[index]! })).filter(({ ttl }) => ttl !== -2);
}

function pool({ url }: PostgresServer): pg.Pool {
  const made = new pg.Pool({ connectionString: url, max: 3 });
  made.on('error', () => undefined); // a server that a fault ends
  return made;
}
