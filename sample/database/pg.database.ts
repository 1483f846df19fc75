import pg from 'pg';
import { Database } from './database.js';
import { SCHEMA } from './schema.js';

/** A real PostgreSQL, through pg. */
export class PgDatabase extends Database {
  private readonly pool: pg.Pool;

  constructor(url: string) {
    super();
    this.pool = new pg.Pool({ connectionString: url, options: `-c search_path=${SCHEMA}`, max: 8 });
    // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
    this.pool.on('error', () => undefined);
  }

  async query<Row = unknown>(sql: string, params: readonly unknown[] = []): Promise<{ rows: Row[] }> {
    const { rows } = await this.pool.query(sql, [...params]);
    return { rows: rows as Row[] };
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}
