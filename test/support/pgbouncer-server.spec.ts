import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import pg from 'pg';
import { ChildProcess } from './child-process.js';
import { eventually } from './eventually.js';
import { isAlive } from './managed-process.js';
import { PgBouncer, type PgBouncerOptions } from './pgbouncer-server.js';
import { PostgresServer } from './postgres-server.js';

describe('PgBouncer', () => {
  let server: PostgresServer | undefined;
  let bouncers: PgBouncer[] = [];
  let clients: pg.Client[] = [];

  async function start(options: Omit<PgBouncerOptions, 'target'>): Promise<PgBouncer> {
    const bouncer = await PgBouncer.start({ target: server!, ...options });
    bouncers.push(bouncer);
    return bouncer;
  }

  async function connect({ url }: { url: string }): Promise<pg.Client> {
    const client = new pg.Client(url);
    client.on('error', () => undefined);
    clients.push(client);
    await client.connect();
    return client;
  }

  async function ask(client: pg.Client, expression: string): Promise<unknown> {
    return (await client.query<{ answer: unknown }>(`select ${expression} as answer`)).rows[0]!.answer;
  }

  const backend = (client: pg.Client): Promise<unknown> => ask(client, 'pg_backend_pid()');
  const tryLock = (client: pg.Client): Promise<unknown> => ask(client, 'pg_try_advisory_lock(7)');

  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 60_000);

  afterEach(async () => {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
    await Promise.all(bouncers.map((bouncer) => bouncer.stop()));
    [clients, bouncers] = [[], []];
  });

  afterAll(() => server?.stop());

  it('lets clients share a backend in transaction mode, and with it what belongs to its session', async () => {
    const bouncer = await start({ poolMode: 'transaction', poolSize: 1 });
    const [one, other] = [await connect(bouncer), await connect(bouncer)];
    expect(await backend(one)).toBe(await backend(other));
    expect([await tryLock(one), await tryLock(other)]).toEqual([true, true]);
  });

  it('has no more backends than it was told, however long a client waits for one', async () => {
    const settings = { query_wait_timeout: 1 };
    const bouncer = await start({ poolMode: 'transaction', poolSize: 1, settings });
    const [one, other] = [await connect(bouncer), await connect(bouncer)];
    await one.query('begin');
    await expect(backend(other)).rejects.toThrow(/query_wait_timeout/);
  });

  it('gives each client a backend of its own in session mode', async () => {
    const bouncer = await start({ poolMode: 'session' });
    const [one, other] = [await connect(bouncer), await connect(bouncer)];
    expect(await backend(one)).not.toBe(await backend(other));
    expect([await tryLock(one), await tryLock(other)]).toEqual([true, false]);
  });

  it('refuses transactions in statement mode', async () => {
    const client = await connect(await start({ poolMode: 'statement' }));
    await expect(client.query('begin')).rejects.toThrow(/transaction blocks not allowed/);
  });

  it('takes further settings, and says why it did not start with them', async () => {
    const bouncer = await start({ poolMode: 'session', settings: { ignore_startup_parameters: 'options' } });
    expect(await backend(await connect({ url: `${bouncer.url}?options=-c%20jit%3Doff` }))).toEqual(expect.any(Number));
    const plain = await start({ poolMode: 'session' });
    await expect(connect({ url: `${plain.url}?options=-c%20jit%3Doff` })).rejects.toThrow(/startup parameter/);
    await expect(start({ poolMode: 'session', settings: { auth_type: 'nonsense' } })).rejects.toThrow(/auth_type/);
  });

  it('listens on its loopback port only', async () => {
    const bouncer = await start({ poolMode: 'session', settings: { admin_users: 'postgres' } });
    const admin = await connect({ url: bouncer.url.replace(/postgres$/, 'pgbouncer') });
    const { rows } = await admin.query<{ key: string; value: string | null }>('show config');
    const settings = Object.fromEntries(rows.map(({ key, value }) => [key, value || null]));
    expect(settings).toMatchObject({ listen_addr: '127.0.0.1', unix_socket_dir: null });
    expect(existsSync(`/tmp/.s.PGSQL.${bouncer.port}`)).toBe(false);
  });

  it('stops with clients connected, more than once, and leaves no session, process or folder behind', async () => {
    const bouncer = await start({ poolMode: 'transaction' });
    const pooled = await backend(await connect(bouncer));
    await bouncer.stop();
    await bouncer.stop();
    expect([bouncer.running, isAlive(bouncer.pid), existsSync(bouncer.folder)]).toEqual([false, false, false]);
    const direct = await connect(server!);
    await eventually(async () =>
      expect(await ask(direct, `exists (select from pg_stat_activity where pid = ${Number(pooled)})`)).toBe(false),
    );
  });

  it('ends, and its folder with it, when the process that started it is killed', async () => {
    const owner = await ChildProcess.start('test/support/fixtures/pgbouncer-owner.ts', { args: [`${server!.port}`] });
    const { pid, folder, url } = await owner.next<{ pid: number; folder: string; url: string }>();
    await backend(await connect({ url }));
    expect(isAlive(pid) && existsSync(folder)).toBe(true);
    await owner.kill();
    await eventually(() => expect(isAlive(pid) || existsSync(folder)).toBe(false));
  });
});
