import type { Pool } from 'pg';
import { StaleTokenError } from '../../../lib/errors.js';
import { fencingSchemaSql } from '../../../lib/fencing/claim-fence.js';
import { fencedTransaction } from '../../../lib/fencing/fenced-transaction.js';
import type { Guard, Outcome } from './messages.js';

type Db = Pick<Pool, 'query'>;

/** Who writes, and by which grant. */
export interface Writer {
  readonly token: number | null;
  /** When it got the lock. */
  readonly entry: number;
}

export interface LoggedWrite {
  readonly counter: string;
  readonly entry: number;
}

/** Counters that only the holder of a lock changes, and a log of every write that was accepted, in the order in which they were. */
export class Ledger {
  constructor(private readonly pool: Pool) {}

  async create(): Promise<void> {
    await this.pool.query(`${fencingSchemaSql()}
      CREATE TABLE counters (name text PRIMARY KEY, value int NOT NULL, fence bigint NOT NULL DEFAULT 0);
      CREATE TABLE writes (seq bigserial PRIMARY KEY, counter text NOT NULL, entry float8 NOT NULL)`);
  }

  async open(counters: readonly string[]): Promise<void> {
    await this.pool.query('INSERT INTO counters (name, value) SELECT unnest($1::text[]), 0', [counters]);
  }

  async value(counter: string, db: Db = this.pool): Promise<number> {
    const { rows } = await db.query<{ value: number }>('SELECT value FROM counters WHERE name = $1', [counter]);
    return rows[0]!.value;
  }

  async log(counters: readonly string[]): Promise<LoggedWrite[]> {
    const sql = 'SELECT counter, entry FROM writes WHERE counter = ANY($1) ORDER BY seq';
    return (await this.pool.query<LoggedWrite>(sql, [counters])).rows;
  }

  /** Undefined: a later holder was here. */
  async read(guard: Guard, counter: string, { token }: Writer): Promise<number | undefined> {
    if (guard !== 'claim') return this.value(counter);
    return stale(() => fencedTransaction(this.pool, fence(counter, token), (tx) => this.value(counter, tx)), undefined);
  }

  /** In a transaction, as most writes are; `meanwhile` is a statement of it that takes its time. */
  async write(
    guard: Guard,
    counter: string,
    writer: Writer,
    value: number,
    meanwhile: (db: Db) => Promise<unknown>,
  ): Promise<Outcome> {
    if (guard !== 'claim') return this.#unclaimed(guard, counter, writer, value, meanwhile);
    const work = async (tx: Db): Promise<Outcome> => {
      await meanwhile(tx);
      return update(tx, 'TRUE', counter, writer, value);
    };
    return stale<Outcome>(() => fencedTransaction(this.pool, fence(counter, writer.token), work), 'stale');
  }

  async #unclaimed(
    guard: Guard,
    counter: string,
    writer: Writer,
    value: number,
    meanwhile: (db: Db) => Promise<unknown>,
  ): Promise<Outcome> {
    const tx = await this.pool.connect();
    try {
      await tx.query('BEGIN');
      await meanwhile(tx);
      const outcome = await update(tx, guard === 'write' ? 'fence <= $3' : 'TRUE', counter, writer, value);
      await tx.query('COMMIT');
      return outcome;
    } finally {
      tx.release();
    }
  }
}

async function update(tx: Db, condition: string, counter: string, writer: Writer, value: number): Promise<Outcome> {
  const sql = `UPDATE counters SET value = $2, fence = $3 WHERE name = $1 AND ${condition}`;
  const { rowCount } = await tx.query(sql, [counter, value, writer.token ?? 0]);
  if (rowCount === 0) return 'stale';
  // Whoever has the row of the counter is alone here, so the log has the order of the commits.
  await tx.query('INSERT INTO writes (counter, entry) VALUES ($1, $2)', [counter, writer.entry]);
  return 'written';
}

function fence(resource: string, token: number | null): { resource: string; token: number } {
  return { resource, token: token ?? 0 };
}

async function stale<T>(work: () => Promise<T>, answer: T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StaleTokenError) return answer;
    throw error;
  }
}
