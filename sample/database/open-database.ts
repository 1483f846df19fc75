import type { Database } from './database.js';
import { PgDatabase } from './pg.database.js';
import { PgliteDatabase } from './pglite.database.js';
import { createSchema } from './schema.js';

/** The shop's database with fresh tables. */
export async function openDatabase(url: string | undefined): Promise<Database> {
  const database = url ? new PgDatabase(url) : await PgliteDatabase.open();
  try {
    await createSchema(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}
