import { LockOptionsError, StaleTokenError } from '../errors.js';
import { checkToken, toResources, type Fence } from './fence.js';

/**
 * Anything that runs one SQL statement on PostgreSQL: a client, pool or transaction of pg, PGlite or TypeORM as it is; others through three lines that
 * hand `sql` and `params` on.
 */
export interface SqlClient {
  query(sql: string, params: any[]): PromiseLike<unknown>;
}

const TABLE = 'fencing_tokens';

/**
 * Each parameter appears once, in order: so an adapter may replace `$1`, `$2` by `?` or cut the text there. A refused row is locked as well, until the
 * end of the transaction. `INSERT … RETURNING` since the rows of other statements come in another shape from TypeORM.
 */
const CLAIM = `INSERT INTO ${TABLE} AS latest (resource, token) VALUES ($1, $2)
ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE latest.token <= excluded.token
RETURNING token`;

/** The migration that `claimFence` needs, once per database. Running it again does nothing. */
export function fencingSchemaSql(): string {
  return `CREATE TABLE IF NOT EXISTS ${TABLE} (resource text PRIMARY KEY, token bigint NOT NULL);`;
}

/**
 * Says that the holder of `token` is about to work on the resource: from now on lower tokens are refused. The same token may claim again.
 *
 * Call it first in a transaction, before anything is read. Until that transaction ends nobody else can claim the resource; what it read is then still true
 * when it writes, and a holder that was overtaken has not got this far. Outside of a transaction it protects nothing that comes after it.
 * @throws StaleTokenError when a later holder has claimed the resource; roll the transaction back
 * @throws LockOptionsError for bad input, and when the table is missing
 */
export async function claimFence(db: SqlClient, { resource, token }: Fence): Promise<void> {
  checkClient(db);
  const resources = toResources(resource);
  checkToken(token);
  for (const name of resources) {
    if ((await runClaim(db, name, token)).length === 0) throw new StaleTokenError(name, token);
  }
}

function checkClient(db: SqlClient): void {
  if (typeof (db as SqlClient | undefined)?.query === 'function') return;
  throw new LockOptionsError(
    'db',
    db,
    'give something with `query(sql, params)`: a client of pg, PGlite or TypeORM, or an adapter (see docs/guarded-writes.md).',
  );
}

async function runClaim(db: SqlClient, name: string, token: number): Promise<readonly unknown[]> {
  let result: unknown;
  try {
    result = await db.query(CLAIM, [name, token]);
  } catch (error) {
    if (!isUndefinedTable(error)) throw error;
    const missing = new LockOptionsError(
      'db',
      `without table ${TABLE}`,
      'create it once, in a migration, with the SQL that `fencingSchemaSql()` returns.',
    );
    throw Object.assign(missing, { cause: error });
  }
  return rowsOf(result);
}

/** pg, PGlite and Knex answer with an object, TypeORM and Prisma with the rows. */
function rowsOf(result: unknown): readonly unknown[] {
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | undefined)?.rows;
  if (Array.isArray(rows)) return rows;
  // Taking an answer that cannot be read for a yes would let every stale write pass.
  throw new LockOptionsError(
    'db',
    result,
    'its `query` must return the rows of the statement: an array, or an object with `rows`.',
  );
}

const UNDEFINED_TABLE = '42P01';
/** Where database libraries keep what the server said, when they wrap it in an error of their own. */
const WRAPPINGS = ['cause', 'driverError', 'meta', 'driverAdapterError'];

function isUndefinedTable(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 5) return false;
  const fields = error as Record<string, unknown>;
  if (fields['code'] === UNDEFINED_TABLE || fields['originalCode'] === UNDEFINED_TABLE) return true;
  return WRAPPINGS.some((name) => isUndefinedTable(fields[name], depth + 1));
}
