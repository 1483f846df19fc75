import type { Pool } from 'pg';
import { StaleTokenError } from '../../../lib/errors.js';
import { fencedTransaction } from '../../../lib/fencing/fenced-transaction.js';
import { fencingSchemaSql } from '../../../lib/fencing/claim-fence.js';
import type { Outcome } from './messages.js';

/** One counter per key, which only the holder of the key's lock changes: it is read in one transaction and written, one higher, in another. */
export class Ledger {
  constructor(private readonly pool: Pool) {}

  async create(): Promise<void> {
    await this.pool.query(`${fencingSchemaSql()} CREATE TABLE counters (key text PRIMARY KEY, value int NOT NULL)`);
  }

  async read(key: string): Promise<number> {
    const { rows } = await this.pool.query<{ value: number }>('SELECT value FROM counters WHERE key = $1', [key]);
    return rows[0]?.value ?? 0;
  }

  /** `mayWrite` is asked when all is ready, for an answer as late as can be. */
  async write(key: string, token: number, value: number, mayWrite: () => boolean): Promise<Outcome> {
    const upsert = 'INSERT INTO counters VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value';
    try {
      return await fencedTransaction(this.pool, { resource: key, token }, async (tx) => {
        if (!mayWrite()) return 'left';
        await tx.query(upsert, [key, value]);
        return 'written';
      });
    } catch (error) {
      if (error instanceof StaleTokenError) return 'stale';
      throw error;
    }
  }
}
