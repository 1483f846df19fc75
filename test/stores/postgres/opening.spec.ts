import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { LockOptionsError, LockUnavailableError } from '../../../lib/errors.js';
import { connectPostgres, postgres, schemaSql } from '../../../lib/stores/postgres/index.js';
import { checkServer } from '../../../lib/stores/postgres/session-setup.js';
import { eventually } from '../../support/eventually.js';
import { expectNoTimers, TimerWatch } from '../../support/leaks.js';
import { freePort } from '../../support/free-port.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { PostgresLab } from './postgres-lab.js';

const TTL_MS = 60_000;

describe('Opening a Postgres store', () => {
  let lab: PostgresLab;
  beforeAll(async () => void (lab = await PostgresLab.start()), 60_000);
  afterEach(() => lab.endTest());
  afterAll(() => lab?.stop());

  async function database(name: string): Promise<string> {
    await lab.rows(`create database ${name}`);
    return lab.server.url.replace(/postgres$/, name);
  }

  it('makes the tables, also when many do at once', async () => {
    const url = await database('fresh');
    const stores = await Promise.all(Array.from({ length: 8 }, () => lab.open({}, url)));
    for (const [index, store] of stores.entries()) {
      expect(await store.acquire(`k${index}`, 'o', TTL_MS)).toMatchObject({ acquired: true });
    }
  });

  it("keeps its tables in the schema that any other option of pg's leads it to", async () => {
    await lab.rows('create schema elsewhere');
    const connection = { connectionString: lab.server.url };
    const store = await connectPostgres({ connection: { ...connection, options: '-c search_path=elsewhere' } });
    await store.close();
    const tables = await lab.rows("select table_name from information_schema.tables where table_schema = 'elsewhere'");
    expect(tables).toHaveLength(3);
  });

  it('works as a role without CREATE once the migration has run, and says so before', async () => {
    const url = await database('bare');
    await lab.rows('create role app login');
    const asApp = url.replace('postgres@', 'app@');
    for (const terms of [{}, { createTables: false }]) {
      const refused = connectPostgres({ connection: asApp, ...terms });
      await expect(refused).rejects.toThrow(LockOptionsError);
      await expect(refused).rejects.toThrow(/schemaSql\(\)/);
    }
    const { Client } = (await import('pg')).default;
    const migration = new Client(url);
    await migration.connect();
    await migration.query(schemaSql());
    await migration.query(schemaSql());
    await migration.query('grant select, insert, update, delete on all tables in schema public to app');
    await migration.end();
    const store = await lab.open({ createTables: false }, asApp);
    expect(await store.acquire('k', 'o', TTL_MS)).toMatchObject({ acquired: true });
  });

  it.each([
    ['an unknown role', (url: string) => url.replace('postgres@', 'nobody:hunter2@'), /role "nobody" does not exist/],
    ['an unknown database', (url: string) => url.replace(/postgres$/, 'nowhere'), /database "nowhere" does not exist/],
  ])('throws for %s, and keeps the password to itself', async (_case, change, message) => {
    const watch = new TimerWatch();
    const error = await connectPostgres(change(lab.server.url)).catch((reason: unknown) => reason as LockOptionsError);
    expect(error).toBeInstanceOf(LockOptionsError);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).not.toContain('hunter2');
    await expectNoTimers(watch, 'lib/stores/postgres');
    watch.stop();
  });

  it('goes on without a server that is out of reach, says so, and joins when it comes up', async () => {
    const proxy = await TcpProxy.start(lab.server.port);
    lab.onEnd(() => proxy.close());
    proxy.cut();
    const log: string[] = [];
    const store = await lab.open({}, `postgres://postgres:hunter2@127.0.0.1:${proxy.port}/postgres`, log);
    const error = await store.acquire('k', 'o', TTL_MS).catch((reason: unknown) => reason as LockUnavailableError);
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect((error as LockUnavailableError).causes).toEqual([
      { node: `postgres 127.0.0.1:${proxy.port}`, reason: expect.stringContaining('ECONNREFUSED') },
    ]);
    expect(log).toEqual([expect.stringMatching(/^postgres 127\.0\.0\.1:\d+: no connection: .*ECONNREFUSED/)]);
    await proxy.pass();
    await eventually(async () => expect(await store.acquire('k', 'o', TTL_MS)).toMatchObject({ acquired: true }));
    expect(log.at(-1)).toMatch(/connected again$/);
  });

  it('says afterwards why a server no longer takes it', async () => {
    const url = await database('leaving');
    const store = await lab.open({}, url);
    await lab.rows('alter database leaving allow_connections false');
    await lab.terminate();
    await eventually(async () => {
      await expect(store.acquire('k', 'o', TTL_MS)).rejects.toThrow(/not currently accepting connections/);
    });
  });

  it('closes to the end, twice, and with a server that does not answer', async () => {
    const proxy = await TcpProxy.start(lab.server.port);
    lab.onEnd(() => proxy.close());
    const watch = new TimerWatch();
    const store = await connectPostgres(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`);
    await store.acquire('k', 'o', TTL_MS);
    const told = new Promise<void>((resolve) => store.onLoss('k', 'o', resolve));
    proxy.blackhole();
    await Promise.all([store.close(), store.close()]);
    await told;
    await store.close();
    await expect(store.acquire('k', 'o', TTL_MS)).rejects.toThrow('the store is closed');
    await expectNoTimers(watch, 'lib/stores/postgres');
    watch.stop();
    const never = await connectPostgres(`postgres://127.0.0.1:${await freePort()}/postgres`);
    await never.close();
  });

  it('refuses servers before PostgreSQL 14 for good, and standbys for now', () => {
    const about = (version: string, standby: string) => ({ version, release: version, standby });
    expect(() => checkServer('here', about('139999', 'f'))).toThrow(LockOptionsError);
    expect(() => checkServer('here', about('140000', 't'))).toThrow(/standby/);
    expect(() => checkServer('here', about('140000', 't'))).not.toThrow(LockOptionsError);
    expect(() => checkServer('here', about('140000', 'f'))).not.toThrow();
  });

  it.each<[unknown, RegExp]>([
    [undefined, /Invalid postgres undefined/],
    ['redis://localhost', /Invalid connection/],
    [{}, /Invalid connection undefined/],
    [{ connection: { query: () => undefined } }, /not a client or a pool/],
    [{ connection: 'postgres://x', host: 'y' }, /Invalid postgres option "host": known are/],
    [{ connection: 'postgres://x', heartbeat: 0 }, /Invalid heartbeat 0/],
    [{ connection: 'postgres://x', timeout: 'soon' }, /Invalid timeout "soon"/],
    [
      { connection: 'postgres://x', sessionTimeout: '1s' },
      /Invalid sessionTimeout "1s": the client must give up first/,
    ],
    [{ connection: 'postgres://x', createTables: 1 }, /Invalid createTables 1/],
    [{ connection: 'postgres://x', mode: 'statement' }, /Invalid mode "statement"/],
    [{ connection: 'postgres://x', connections: 5 }, /it goes with `mode: 'transaction'`/],
    [{ connection: 'postgres://x', mode: 'transaction', connections: 0 }, /Invalid connections 0/],
  ])('refuses %j where it is given', (options, message) => {
    expect(() => postgres(options as string)).toThrow(LockOptionsError);
    expect(() => postgres(options as string)).toThrow(message);
  });
});
