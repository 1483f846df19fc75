import { PGlite } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { PgDatabase } from 'drizzle-orm/pg-core';
import knex, { type Knex } from 'knex';
import type { SqlClient } from 'nestjs-fenced-lock';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { openPrisma, type PrismaClient } from '../../fencing/prisma-client.js';
import type { Snippets } from '../snippets.js';

/** A library that runs SQL, as `claimFence` gets to see it: through the adapter of the document, or as it is. */
export interface SqlLibrary {
  /** Outside of a transaction. */
  readonly direct: SqlClient;
  transaction<T>(work: (db: SqlClient) => Promise<T>): Promise<T>;
  close(): Promise<unknown>;
}

type Open = (url: string, snippets: Snippets) => Promise<SqlLibrary>;

async function adapter<Of>(snippets: Snippets, text: string): Promise<(of: Of) => SqlClient> {
  return (await snippets.claim(text).load<{ sqlOf(of: Of): SqlClient }>()).sqlOf;
}

async function byHand<T>(client: SqlClient, work: (db: SqlClient) => Promise<T>): Promise<T> {
  await client.query('BEGIN', []);
  try {
    const result = await work(client);
    await client.query('COMMIT', []);
    return result;
  } catch (error) {
    await client.query('ROLLBACK', []);
    throw error;
  }
}

export const SQL_LIBRARIES: Record<string, Open> = {
  'pg, a client': async (url) => {
    const client = new pg.Client(url);
    await client.connect();
    return { direct: client, transaction: (work) => byHand(client, work), close: () => client.end() };
  },

  'pg, a pool and its clients': async (url) => {
    const pool = new pg.Pool({ connectionString: url });
    return {
      direct: pool,
      transaction: async (work) => {
        const client = await pool.connect();
        return byHand(client, work).finally(() => client.release());
      },
      close: () => pool.end(),
    };
  },

  PGlite: async () => {
    const pglite = await PGlite.create();
    return {
      direct: pglite,
      transaction: (work) => pglite.transaction(async (tx) => work(tx)),
      close: () => pglite.close(),
    };
  },

  'TypeORM, a data source and its entity managers': async (url) => {
    const source = await new DataSource({ type: 'postgres', url }).initialize();
    return { direct: source, transaction: (work) => source.transaction(work), close: () => source.destroy() };
  },

  'TypeORM, a query runner': async (url) => {
    const source = await new DataSource({ type: 'postgres', url }).initialize();
    const runner = source.createQueryRunner();
    return {
      direct: runner,
      transaction: async (work) => {
        await runner.startTransaction();
        try {
          const result = await work(runner);
          await runner.commitTransaction();
          return result;
        } catch (error) {
          await runner.rollbackTransaction();
          throw error;
        }
      },
      close: () => runner.release().then(() => source.destroy()),
    };
  },

  Knex: async (url, snippets) => {
    const sqlOf = await adapter<Knex>(snippets, "from 'knex'");
    const db = knex({ client: 'pg', connection: url });
    return {
      direct: sqlOf(db),
      transaction: (work) => db.transaction((trx) => work(sqlOf(trx))),
      close: () => db.destroy(),
    };
  },

  Drizzle: async (url, snippets) => {
    const sqlOf = await adapter<PgDatabase<any, any, any>>(snippets, "from 'drizzle-orm'");
    const pool = new pg.Pool({ connectionString: url });
    const db = drizzle(pool);
    return {
      direct: sqlOf(db),
      transaction: (work) => db.transaction((tx) => work(sqlOf(tx))),
      close: () => pool.end(),
    };
  },

  Prisma: async (url, snippets) => {
    const sqlOf = await adapter<Pick<PrismaClient, '$queryRawUnsafe'>>(snippets, '$queryRawUnsafe');
    const prisma = openPrisma(url);
    return {
      direct: sqlOf(prisma),
      transaction: (work) => prisma.$transaction((tx) => work(sqlOf(tx))),
      close: () => prisma.$disconnect(),
    };
  },
};
