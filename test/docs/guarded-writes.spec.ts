import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { claimFence, fencingSchemaSql, LockOptionsError, StaleTokenError, type SqlClient } from 'nestjs-fenced-lock';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { PostgresFixture } from '../fencing/postgres-fixture.js';
import { RedisServer } from '../support/redis-server.js';
import { cleanup } from './cleanup.js';
import { root, typeErrors } from './compiler.js';
import { codeBlocks } from './markdown.js';
import { addsForLatestHolder } from './scenarios/guarded-write.js';
import { SQL_LIBRARIES, type SqlLibrary } from './scenarios/sql-libraries.js';
import { Snippets } from './snippets.js';

const OLD = 1_795_974_096_827_585;
const NEW = OLD + 1;

const text = readFileSync(join(root, 'docs/guarded-writes.md'), 'utf8');
const snippets = new Snippets(text, join(root, 'test/tmp'));
const statements = codeBlocks(text, 'sql').map(({ code }) => code.trim());

describe('the page on guarded writes', () => {
  const afterwards = cleanup();
  let database: PostgresFixture;
  let resource: string;

  beforeAll(async () => {
    await snippets.write();
    database = await PostgresFixture.start();
  }, 60_000);
  afterAll(async () => {
    await database.stop();
    await snippets.remove();
  });
  beforeEach(() => {
    resource = database.resource();
  });

  it('has snippets that type-check', () => {
    expect(typeErrors(snippets.paths)).toEqual([]);
  }, 120_000);

  describe.each(Object.entries(SQL_LIBRARIES))('on %s', (name, open) => {
    let library: SqlLibrary;

    beforeAll(async () => {
      library = await open(database.server.url, snippets);
    });
    afterAll(() => library.close());
    afterEach(async () => {
      await library.direct.query(fencingSchemaSql(), []);
    });

    const claim = (token: number): Promise<void> => library.transaction((db) => claimFence(db, { resource, token }));

    it('has a missing table named, in a transaction and outside, and can run the migration', async () => {
      await library.direct.query('DROP TABLE IF EXISTS fencing_tokens', []);
      await expect(claimFence(library.direct, { resource, token: OLD })).rejects.toThrow(LockOptionsError);
      await expect(claim(OLD)).rejects.toThrow(/without table fencing_tokens.*`fencingSchemaSql\(\)`/);
      await library.direct.query(fencingSchemaSql(), []);
      await claim(OLD);
    });

    it('lets the same and later holders claim, and refuses earlier ones', async () => {
      for (const token of [OLD, OLD, NEW]) await claim(token);
      await expect(claim(OLD)).rejects.toThrow(StaleTokenError);
      await claim(NEW);
      for (const token of [NEW, NEW + 1]) await claimFence(library.direct, { resource, token });
      await expect(claimFence(library.direct, { resource, token: NEW })).rejects.toThrow(StaleTokenError);
    });

    it('makes the claim a part of the transaction', async () => {
      const failure = new Error('no');
      const work = library.transaction(async (db) => {
        await claimFence(db, { resource, token: NEW });
        throw failure;
      });
      await expect(work).rejects.toBe(failure);
      await claim(OLD);
    });

    it('passes on other errors of the server', async () => {
      const tooLong = 'a'.repeat(3000) + Array.from({ length: 9000 }, (_, i) => (i * 7919).toString(36)).join('');
      const refusal = claimFence(library.direct, { resource: tooLong, token: OLD });
      await expect(refusal).rejects.toThrow();
      await expect(refusal).rejects.not.toThrow(LockOptionsError);
    });

    // PGlite has a single session.
    if (name === 'PGlite') return;

    it('waits for another transaction that has claimed, and is refused when that was a later holder', async () => {
      const other = await database.pool.connect();
      try {
        await other.query('BEGIN');
        await claimFence(other, { resource, token: NEW });
        const stale = claim(OLD).catch((error: unknown) => error);
        await database.waiting();
        await other.query('COMMIT');
        expect(await stale).toBeInstanceOf(StaleTokenError);
      } finally {
        other.release(true);
      }
    });
  });

  it('bills each customer once with fencedTransaction, and nobody for a holder that was overtaken', async () => {
    const { billAll } = await snippets.claim('function billAll').load<{
      billAll(pool: Pool, customers: readonly string[], token: number): Promise<void>;
    }>();
    await database.pool.query('CREATE TABLE bills (customer text PRIMARY KEY)');
    const billed = async (): Promise<number> => (await database.pool.query('SELECT FROM bills')).rowCount!;
    await billAll(database.pool, ['a', 'b'], OLD);
    await billAll(database.pool, ['a', 'b', 'c'], NEW);
    expect(await billed()).toBe(3);
    await expect(billAll(database.pool, ['d'], OLD)).rejects.toThrow(StaleTokenError);
    expect(await billed()).toBe(3);
  });

  it('adds with TypeORM, for the latest holder', async () => {
    const { addToInvoice } = await snippets.claim('function addToInvoice').load<{
      addToInvoice(source: DataSource, id: string, amount: number, token: number): Promise<void>;
    }>();
    const source = await new DataSource({ type: 'postgres', url: database.server.url }).initialize();
    afterwards(() => source.destroy());
    await source.query('CREATE TABLE invoices (id text PRIMARY KEY, total int)');
    await source.query("INSERT INTO invoices VALUES ('a', 100)");
    await addToInvoice(source, 'a', 5, NEW);
    await expect(addToInvoice(source, 'a', 5, OLD)).rejects.toThrow(StaleTokenError);
    expect(await source.query('SELECT total FROM invoices')).toEqual([{ total: 105 }]);
    await source.query('DROP TABLE invoices');
  });

  it('counts in Redis, for the latest holder', async () => {
    const { countVisit } = await snippets.claim('function countVisit').load<{
      countVisit(redis: Redis, page: string, token: number): Promise<void>;
    }>();
    const server = await RedisServer.start();
    afterwards(() => server.stop());
    const redis = new Redis(server.url);
    afterwards(async () => redis.disconnect());
    for (const token of [OLD, OLD, NEW]) await countVisit(redis, 'home', token);
    await expect(countVisit(redis, 'home', OLD)).rejects.toThrow(StaleTokenError);
    expect(await redis.get('visits:home')).toBe('3');
    // The names that the page gives.
    await redis.set('{tag}', '');
    await countVisit(redis, '{tag}', NEW);
    expect((await redis.keys('*:fence')).concat(await redis.keys('fence:*')).sort()).toEqual([
      'fence:{visits:home}',
      'visits:{tag}:fence',
    ]);
  });

  it('adds with a column, for the latest holder', async () => {
    const { addWithColumn } = await snippets.claim('function addWithColumn').load<{
      addWithColumn(db: SqlClient, id: string, amount: number, token: number): Promise<boolean>;
    }>();
    await database.pool.query('CREATE TABLE invoices (id text PRIMARY KEY, total int NOT NULL, fence bigint NOT NULL)');
    await addsForLatestHolder(database.pool, addWithColumn);
    await database.pool.query('DROP TABLE invoices');
  });

  it('shows the migration that there is, and clears what has not been claimed for a month', async () => {
    const [schema, clear, another] = statements;
    expect(schema).toBe(fencingSchemaSql());
    expect(another).toBeUndefined();
    const ageing = { new: 29, old: 32 };
    for (const [name, days] of Object.entries(ageing)) {
      const token = (Date.now() - days * 86_400_000) * 1000;
      await claimFence(database.pool, { resource: `${resource}:${name}`, token });
    }
    await database.pool.query(clear!);
    expect(await database.claimed(`${resource}:old`)).toBeUndefined();
    expect(await database.claimed(`${resource}:new`)).toBeGreaterThan(0);
  });

  it('has each snippet run by exactly one of these tests', () => {
    expect(snippets.claims).toEqual(snippets.blocks.map(() => 1));
  });
});
