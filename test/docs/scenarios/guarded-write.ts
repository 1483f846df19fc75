import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { PostgresServer } from '../../support/postgres-server.js';
import { cleanup } from '../cleanup.js';
import type { Snippets } from '../snippets.js';

export function guardedWrite(snippets: Snippets): void {
  describe('addToInvoice', () => {
    const afterwards = cleanup();
    interface Database {
      query(sql: string, parameters: unknown[]): Promise<{ rows: any[] }>;
    }
    const guarded = snippets.claim('function addToInvoice');

    it('adds for the latest holder, and changes nothing with an older token', async () => {
      const { addToInvoice } = await guarded.load<{
        addToInvoice(db: Database, id: string, amount: number, token: number): Promise<boolean>;
      }>();
      const server = await PostgresServer.start();
      afterwards(() => server.stop());
      const database = new pg.Client(server.url);
      await database.connect();
      afterwards(() => database.end());
      await database.query('CREATE TABLE invoices (id text PRIMARY KEY, total int NOT NULL, fence bigint NOT NULL)');
      await database.query("INSERT INTO invoices VALUES ('a', 100, 0)");
      const older = 1_795_974_096_827_585;
      const newer = older + 1;
      const invoice = async (): Promise<unknown> =>
        (await database.query<object>('SELECT total, fence FROM invoices')).rows[0];

      expect(await addToInvoice(database, 'a', 5, older)).toBe(true);
      expect(await addToInvoice(database, 'a', 5, newer)).toBe(true);
      expect(await invoice()).toEqual({ total: 110, fence: String(newer) });

      expect(await addToInvoice(database, 'a', 5, older)).toBe(false);
      expect(await invoice()).toEqual({ total: 110, fence: String(newer) });

      // Frozen between its read and its write, while a later holder comes and goes.
      let queries = 0;
      const freezing: Database = {
        query: async (sql, parameters) => {
          if (++queries === 2) expect(await addToInvoice(database, 'a', 7, newer + 1)).toBe(true);
          return database.query(sql, parameters);
        },
      };
      expect(await addToInvoice(freezing, 'a', 5, newer)).toBe(false);
      expect(await invoice()).toEqual({ total: 117, fence: String(newer + 1) });
    });
  });
}
