import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { LockManager } from 'nestjs-fenced-lock';
import { connectPostgres, schemaSql } from 'nestjs-fenced-lock/postgres';
import pg from 'pg';
import { toMs } from '../../lib/duration.js';
import { toPostgresSettings } from '../../lib/stores/postgres/postgres.options.js';
import { PostgresServer } from '../support/postgres-server.js';
import { cleanup } from './cleanup.js';
import { propertyReader, root, typeErrors } from './compiler.js';
import { tables } from './markdown.js';
import { Snippets } from './snippets.js';

const text = readFileSync(join(root, 'docs/postgres.md'), 'utf8');
const snippets = new Snippets(text, join(root, 'test/tmp'));
const code = (cell = ''): string => cell.replace(/`/g, '').replace(/^'(.*)'$/, '$1');

describe('the page on Postgres', () => {
  const afterwards = cleanup();

  beforeAll(() => snippets.write());
  afterAll(() => snippets.remove());

  it('has snippets that type-check', () => {
    expect(typeErrors([...snippets.paths])).toEqual([]);
  });

  it('names every option there is, with its default', () => {
    const rows = new Map(tables(text)[0]!.rows.map(([option, value]) => [code(option), code(value)]));
    const options = propertyReader(join(root, 'lib/stores/postgres/index.ts'))('PostgresOptions');
    expect([...rows.keys()].sort()).toEqual([...options].sort());
    const defaults = toPostgresSettings('postgres://localhost');
    for (const option of ['heartbeat', 'timeout', 'sessionTimeout'] as const) {
      expect([option, toMs(option, rows.get(option) as '2s')]).toEqual([option, defaults[`${option}Ms`]]);
    }
    for (const option of ['createTables', 'mode', 'connections'] as const) {
      expect([option, rows.get(option)]).toEqual([option, String(defaults[option])]);
    }
  });

  it('shows a module that locks in Postgres, on tables that a migration made', async () => {
    const server = await PostgresServer.start();
    afterwards(() => server.stop());
    const admin = new pg.Client(server.url);
    await admin.connect();
    await admin.query(schemaSql());
    await admin.end();
    process.env['DATABASE_URL'] = server.url;
    const { LocksModule } = await snippets.claim('class LocksModule').load<{ LocksModule: new () => object }>();
    const app = await NestFactory.createApplicationContext(LocksModule, { logger: false });
    afterwards(() => app.close());
    const other = await connectPostgres(server.url);
    afterwards(() => other.close());

    const lock = await app.get(LockManager).acquire('job:billing');
    expect(await other.acquire('job:billing', 'another pod', 1000)).toMatchObject({ acquired: false });
    expect(await lock.release()).toBe(true);
    expect(await other.acquire('job:billing', 'another pod, later', 1000)).toMatchObject({ acquired: true });
  });
});
