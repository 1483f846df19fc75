import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { LockOptionsError } from '../../../lib/errors.js';
import { connectPostgres, TransactionStore } from '../../../lib/stores/postgres/index.js';
import type { PgClient } from '../../../lib/stores/postgres/pg-client.js';
import { toPostgresSettings } from '../../../lib/stores/postgres/postgres.options.js';
import { systemRuntime } from '../../../lib/runtime.js';
import { defineStoreContract } from '../../../lib/testing/index.js';
import { eventually } from '../../support/eventually.js';
import { PgBouncer, type PgBouncerOptions } from '../../support/pgbouncer-server.js';
import { PostgresLab } from './postgres-lab.js';

const TTL_MS = 60_000;

describe('A proxy in front of Postgres', () => {
  let lab: PostgresLab;
  beforeAll(async () => void (lab = await PostgresLab.start()), 60_000);
  afterEach(async () => {
    await lab.endTest();
    await eventually(async () => expect(await lab.advisoryLocks()).toBe(0));
  });
  afterAll(() => lab?.stop());

  async function proxy(options: Omit<PgBouncerOptions, 'target'>): Promise<PgBouncer> {
    const bouncer = await PgBouncer.start({ target: lab.server, ...options });
    lab.onEnd(() => bouncer.stop());
    return bouncer;
  }

  async function openByTransaction(url: string, connections = 10): Promise<TransactionStore> {
    const options = {
      connection: url,
      mode: 'transaction',
      connections,
      timeout: '20s',
      sessionTimeout: '60s',
    } as const;
    const store = await connectPostgres(options, { ttlMs: 1000, log: () => undefined });
    lab.onEnd(() => store.close());
    return store;
  }

  describe.each<Omit<PgBouncerOptions, 'target'>>([
    { poolMode: 'transaction' },
    { poolMode: 'transaction', poolSize: 1 },
    { poolMode: 'transaction', settings: { server_round_robin: 1, min_pool_size: 5 } },
    { poolMode: 'statement' },
  ])('that pools like this: %j', (options) => {
    it('is refused when a store opens, with guidance, and nothing is left on its backends', async () => {
      const { url } = await proxy(options);
      const refused = connectPostgres(url);
      await expect(refused).rejects.toThrow(LockOptionsError);
      await expect(refused).rejects.toThrow(/session pool, or give `mode: 'transaction'`/);
      const client = new pg.Client(url);
      await client.connect();
      lab.onEnd(() => client.end());
      const left = `select (select count(*) from pg_prepared_statements) + (select count(*) from pg_locks where locktype = 'advisory') as left`;
      expect((await client.query(left)).rows).toEqual([{ left: '0' }]);
    });
  });

  it.each([1, 20])('that pools by session is as good as none, with a pool of %i', async (poolSize) => {
    const { url } = await proxy({ poolMode: 'session', poolSize });
    const store = await lab.open({}, url);
    const direct = await lab.open();
    expect(await store.acquire('k', 'o', TTL_MS)).toMatchObject({ acquired: true });
    expect(await direct.acquire('k', 'p', TTL_MS)).toMatchObject({ acquired: false });
    expect(await store.renew('k', 'o', TTL_MS)).toBe(true);
    expect(await store.release('k', 'o')).toBe(true);
  });

  it('that comes in later is found by its backends', async () => {
    const { url } = await proxy({
      poolMode: 'transaction',
      poolSize: 5,
      settings: { server_round_robin: 1, min_pool_size: 5 },
    });
    const { Session } = await import('../../../lib/stores/postgres/session.js');
    const { clientFactory } = await import('../../../lib/stores/postgres/pg-client.js');
    const session = new Session((await clientFactory({ connectionString: url }))(), {
      heartbeatMs: 20_000,
      timeoutMs: 20_000,
      prepare: false,
    });
    await session.connect();
    session.pin('1');
    await expect(session.alive()).rejects.toThrow(/transaction-pooling proxy/);
    expect(session.lost).toBeDefined();
  });

  describe("with mode: 'transaction'", () => {
    it('excludes, also those who hold by session', async () => {
      const { url } = await proxy({ poolMode: 'transaction' });
      const [one, other, direct] = [await openByTransaction(url), await openByTransaction(url), await lab.open()];
      const first = await one.acquire('k', 'o', TTL_MS);
      expect(first).toMatchObject({ acquired: true });
      expect(await other.acquire('k', 'p', TTL_MS)).toEqual({ acquired: false });
      expect(await direct.acquire('k', 'q', TTL_MS)).toEqual({ acquired: false });
      expect(await one.release('k', 'o')).toBe(true);
      const second = await direct.acquire('k', 'q', TTL_MS);
      expect((second as { fencingToken: number }).fencingToken).toBeGreaterThan(
        (first as { fencingToken: number }).fencingToken,
      );
      expect(await one.acquire('k', 'r', TTL_MS)).toEqual({ acquired: false });
    });

    it('gives rising tokens to processes that compete', async () => {
      const { url } = await proxy({ poolMode: 'transaction', poolSize: 8 });
      const stores = await Promise.all([1, 2, 3].map(() => openByTransaction(url, 2)));
      const tokens: number[] = [];
      await Promise.all(
        stores.map(async (store, index) => {
          for (let round = 0; round < 30; round++) {
            const owner = `${index}/${round}`;
            const result = await store.acquire('contended', owner, TTL_MS);
            if (!result.acquired) continue;
            tokens.push(result.fencingToken);
            await store.release('contended', owner, round % 2);
          }
        }),
      );
      expect(tokens.length).toBeGreaterThan(5);
      expect(tokens).toEqual([...new Set(tokens)].sort((one, other) => one - other));
    });

    it('loses one lock with its connection, and no other; the holder is told at once', async () => {
      const { url } = await proxy({ poolMode: 'transaction' });
      const store = await openByTransaction(url);
      await store.acquire('lost', 'o', TTL_MS);
      const [{ pid }] = await lab.rows(`select pid from pg_locks where locktype = 'advisory'`);
      await store.acquire('kept', 'o', TTL_MS);
      let others = 0;
      store.onLoss('kept', 'o', () => others++);
      const told = new Promise<void>((resolve) => store.onLoss('lost', 'o', resolve));
      await lab.rows('select pg_terminate_backend($1)', [pid]);
      await told;
      expect(await store.renew('kept', 'o', TTL_MS)).toBe(true);
      expect(await store.renew('lost', 'o', TTL_MS)).toBe(false);
      expect(await store.acquire('lost', 'p', TTL_MS)).toMatchObject({ acquired: true });
      expect(others).toBe(0);
    });

    it('says when it has no connection left, and goes on when one comes free', async () => {
      const { url } = await proxy({ poolMode: 'transaction' });
      const store = await openByTransaction(url, 1);
      await store.acquire('a', 'o', TTL_MS);
      await expect(store.acquire('b', 'o', TTL_MS)).rejects.toThrow(/each of its 1 connections holds a lock/);
      await store.release('a', 'o');
      expect(await store.acquire('b', 'o', TTL_MS)).toMatchObject({ acquired: true });
    });

    it('keeps a connection for the next lock, whichever backends answer it meanwhile', async () => {
      const { url } = await proxy({ poolMode: 'transaction', settings: { server_round_robin: 1, min_pool_size: 5 } });
      const clients: pg.Client[] = [];
      const create = (): PgClient => {
        clients.push(new pg.Client({ connectionString: url, types: { getTypeParser: () => String } as never }));
        return clients.at(-1) as unknown as PgClient;
      };
      const terms = { connection: url, mode: 'transaction', heartbeat: '20ms', timeout: '20s' } as const;
      const settings = toPostgresSettings({ ...terms, sessionTimeout: '60s' });
      const store = new TransactionStore(create, settings, { ttlMs: 1000, log: () => undefined }, systemRuntime);
      lab.onEnd(() => store.close());
      await store.open();
      for (let round = 0; round < 3; round++) {
        expect(await store.acquire('k', `o${round}`, TTL_MS)).toMatchObject({ acquired: true });
        expect(await store.release('k', `o${round}`)).toBe(true);
        // The connection that held the lock is asked for signs of life.
        const asked = jest.spyOn(clients[2]!, 'query');
        await eventually(() => expect(asked.mock.calls.length).toBeGreaterThan(3));
        asked.mockRestore();
      }
      expect(clients).toHaveLength(3); // one for its name, one for tokens, one for locks
    });

    it('is no grant if the lock was lost before its token came', async () => {
      const { url } = await proxy({ poolMode: 'transaction' });
      const store = await openByTransaction(url);
      await lab.rows(`
        create function lose() returns trigger language plpgsql as
          'begin perform pg_terminate_backend(pid) from pg_locks where locktype = ''advisory''; return new; end';
        create trigger lose before insert on distributed_lock_fence for each row execute function lose();`);
      await expect(store.acquire('k', 'o', TTL_MS)).rejects.toThrow(/postgres 127/);
      await lab.rows('drop function lose cascade');
      expect(await store.acquire('k', 'o', TTL_MS)).toMatchObject({ acquired: true });
    });
  });
});

describe("PostgresStore through pgbouncer, mode: 'transaction'", () => {
  let lab: PostgresLab;
  let bouncer: PgBouncer;
  beforeAll(async () => {
    lab = await PostgresLab.start(['-c', 'max_connections=300']);
    bouncer = await PgBouncer.start({
      target: lab.server,
      poolMode: 'transaction',
      poolSize: 200,
      settings: { max_client_conn: 400 },
    });
  }, 60_000);
  afterAll(async () => {
    await bouncer?.stop();
    await lab?.stop();
  });

  defineStoreContract({
    test: it,
    createStore: () =>
      connectPostgres({
        connection: bouncer.url,
        mode: 'transaction',
        connections: 150,
        timeout: '20s',
        sessionTimeout: '60s',
      }),
  });
});
