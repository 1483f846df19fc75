import type { Pool } from 'pg';
import { fencedTransaction } from '../../lib/fencing/fenced-transaction.js';

/** How the writes to an account are guarded: not at all, by a check in the write alone, or by a claim in each transaction. */
export type Guard = 'none' | 'write-check' | 'claim';

/** A row that a lock protects: its balance is read in one transaction and written in another, as a job does that computes in between. */
export class PostgresAccount {
  constructor(
    private readonly pool: Pool,
    private readonly name: string,
    private readonly guard: Guard,
  ) {}

  async open(): Promise<void> {
    await this.pool.query('CREATE TABLE IF NOT EXISTS accounts (name text PRIMARY KEY, balance int, fence bigint)');
    await this.pool.query('INSERT INTO accounts VALUES ($1, 0, 0)', [this.name]);
  }

  /** For a holder's eyes; `look` is for those of the test. */
  async read(token: number): Promise<number> {
    if (this.guard !== 'claim') return this.look();
    return fencedTransaction(this.pool, { resource: this.name, token }, (tx) => this.look(tx));
  }

  /** Whether the database took it. */
  async write(token: number, balance: number): Promise<boolean> {
    switch (this.guard) {
      case 'none':
        return this.#update('', [this.name, balance]);
      case 'write-check':
        return this.#update(', fence = $3', [this.name, balance, token], 'AND fence <= $3');
      case 'claim':
        return fencedTransaction(this.pool, { resource: this.name, token }, (tx) =>
          this.#update('', [this.name, balance], '', tx),
        );
    }
  }

  async look(on: Pick<Pool, 'query'> = this.pool): Promise<number> {
    const { rows } = await on.query<{ balance: number }>('SELECT balance FROM accounts WHERE name = $1', [this.name]);
    return rows[0]!.balance;
  }

  /** Read and write in one transaction. `between` runs between the two. */
  async add(token: number, between: () => Promise<unknown> = async () => undefined): Promise<void> {
    await fencedTransaction(this.pool, { resource: this.name, token }, async (tx) => {
      const balance = await this.look(tx);
      await between();
      await this.#update('', [this.name, balance + 1], '', tx);
    });
  }

  async #update(set: string, params: unknown[], condition = '', on: Pick<Pool, 'query'> = this.pool): Promise<boolean> {
    const sql = `UPDATE accounts SET balance = $2${set} WHERE name = $1 ${condition}`;
    return (await on.query(sql, params)).rowCount === 1;
  }
}
