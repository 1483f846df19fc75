import { describe, expect, it } from '@jest/globals';
import { fencingSchemaSql, StaleTokenError } from 'nestjs-fenced-lock';
import pg from 'pg';
import { PostgresServer } from '../../support/postgres-server.js';
import { cleanup } from '../cleanup.js';
import { codeBlocks } from '../markdown.js';
import type { Snippets } from '../snippets.js';

const OLDER = 1_795_974_096_827_585;
const NEWER = OLDER + 1;
const NEWEST = OLDER + 2;

interface Database {
  query(sql: string, parameters: unknown[]): Promise<{ rows: any[] }>;
}

export type Addition = (db: Database, id: string, amount: number, token: number) => Promise<boolean>;

/** That a guarded addition to a row of `invoices` with a column `fence` is one: of all holders, frozen ones included, only the latest adds. */
export async function addsForLatestHolder(database: Database, add: Addition): Promise<void> {
  await database.query("INSERT INTO invoices (id, total, fence) VALUES ('a', 100, 0)", []);
  const invoice = async (): Promise<unknown> => (await database.query('SELECT total, fence FROM invoices', [])).rows[0];

  expect(await add(database, 'a', 5, OLDER)).toBe(true);
  expect(await add(database, 'a', 5, NEWER)).toBe(true);
  expect(await invoice()).toEqual({ total: 110, fence: String(NEWER) });

  expect(await add(database, 'a', 5, OLDER)).toBe(false);
  expect(await invoice()).toEqual({ total: 110, fence: String(NEWER) });

  // Frozen between its read and its write, while a later holder comes and goes.
  let queries = 0;
  const freezing: Database = {
    query: async (sql, parameters) => {
      if (++queries === 2) expect(await add(database, 'a', 7, NEWEST)).toBe(true);
      return database.query(sql, parameters);
    },
  };
  expect(await add(freezing, 'a', 5, NEWER)).toBe(false);
  expect(await invoice()).toEqual({ total: 117, fence: String(NEWEST) });
}

export function guardedWrite(snippets: Snippets): void {
  describe('a guarded write', () => {
    const afterwards = cleanup();
    const guarded = snippets.claim('function addToInvoice');

    const open = async (): Promise<pg.Pool> => {
      const server = await PostgresServer.start();
      afterwards(() => server.stop());
      const pool = new pg.Pool({ connectionString: server.url });
      afterwards(() => pool.end());
      pool.on('error', () => undefined); // its end resolves before its connections have closed, so the server may close them first
      await pool.query('CREATE TABLE invoices (id text PRIMARY KEY, total int NOT NULL, fence bigint)');
      return pool;
    };

    it('in a fenced transaction adds for the latest holder, and is refused with an older token', async () => {
      const { addToInvoice } = await guarded.load<{
        addToInvoice(pool: pg.Pool, id: string, amount: number, token: number): Promise<void>;
      }>();
      const pool = await open();
      await pool.query(fencingSchemaSql());
      await pool.query("INSERT INTO invoices VALUES ('a', 100)");
      await addToInvoice(pool, 'a', 5, OLDER);
      await addToInvoice(pool, 'a', 5, NEWER);
      await expect(addToInvoice(pool, 'a', 5, OLDER)).rejects.toThrow(StaleTokenError);
      await Promise.all([addToInvoice(pool, 'a', 1, NEWER), addToInvoice(pool, 'a', 1, NEWER)]);
      expect((await pool.query('SELECT total FROM invoices')).rows).toEqual([{ total: 112 }]);
    });

    it('by the two statements with a column does so, too', async () => {
      const [block, another] = codeBlocks(snippets.text, 'sql');
      expect(another).toBeUndefined();
      const [claim, write] = block!.code.replace(/--.*$/gm, '').trim().split(/;\s*/) as [string, string];
      const add: Addition = async (db, id, amount, token) => {
        const [invoice] = (await db.query(claim, [token, id])).rows as { total: number }[];
        if (!invoice) return false;
        return (await db.query(`${write} RETURNING id`, [token, id, invoice.total + amount])).rows.length === 1;
      };
      await addsForLatestHolder(await open(), add);
    });
  });
}
