import { PGlite } from '@electric-sql/pglite';
import { Database } from './database.js';
import { SCHEMA } from './schema.js';

/** PostgreSQL compiled to WebAssembly, in this process and in memory: nothing to install for a demonstration. */
export class PgliteDatabase extends Database {
  private constructor(private readonly pglite: PGlite) {
    super();
  }

  static async open(): Promise<PgliteDatabase> {
    const pglite = await PGlite.create();
    await pglite.exec(`SET search_path = ${SCHEMA}`);
    return new PgliteDatabase(pglite);
  }

  query<Row = unknown>(sql: string, params: readonly unknown[] = []): Promise<{ rows: Row[] }> {
    return this.pglite.query<Row>(sql, [...params]);
  }

  close(): Promise<void> {
    return this.pglite.close();
  }
}
