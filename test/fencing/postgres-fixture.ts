import pg from 'pg';
import { fencingSchemaSql } from '../../lib/fencing/claim-fence.js';
import { eventually } from '../support/eventually.js';
import { PostgresServer } from '../support/postgres-server.js';

/** A PostgreSQL with the table of fences, and clients of it that end with it. */
export class PostgresFixture {
  #resources = 0;

  private constructor(
    readonly server: PostgresServer,
    readonly pool: pg.Pool,
  ) {}

  static async start(): Promise<PostgresFixture> {
    const server = await PostgresServer.start();
    const pool = new pg.Pool({ connectionString: server.url, max: 5 });
    pool.on('error', () => undefined);
    await pool.query(fencingSchemaSql());
    return new PostgresFixture(server, pool);
  }

  /** A resource that no other test has used. */
  resource(name = 'resource'): string {
    return `${name}:${++this.#resources}`;
  }

  /** The token that the resource was last claimed with, as others see it. */
  async claimed(resource: string): Promise<number | undefined> {
    const sql = 'SELECT token FROM fencing_tokens WHERE resource = $1';
    const { rows } = await this.pool.query<{ token: string }>(sql, [resource]);
    return rows[0] && Number(rows[0].token);
  }

  /** Resolves when this many sessions wait for the transaction of another. */
  async waiting(count = 1): Promise<void> {
    const sql = `SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
    await eventually(async () => {
      const { rows } = await this.pool.query<{ count: number }>(sql);
      if (rows[0]!.count !== count) throw new Error(`${rows[0]!.count} sessions wait`);
    });
  }

  async stop(): Promise<void> {
    await this.pool.end();
    await this.server.stop();
  }
}
