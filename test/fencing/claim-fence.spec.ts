import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { PoolClient } from 'pg';
import { LockOptionsError, StaleTokenError } from '../../lib/errors.js';
import { claimFence, fencingSchemaSql, type SqlClient } from '../../lib/fencing/claim-fence.js';
import { PostgresFixture } from './postgres-fixture.js';

/** Of the size that real tokens have. */
const OLD = 1_795_974_096_827_585;
const NEW = OLD + 1;

let database: PostgresFixture;
let resource: string;

beforeAll(async () => {
  database = await PostgresFixture.start();
});
afterAll(() => database.stop());
beforeEach(() => {
  resource = database.resource();
});

describe('claimFence', () => {
  const claim = (token: number, name: string | readonly string[] = resource): Promise<void> =>
    claimFence(database.pool, { resource: name, token });

  it('refuses a lower token than one it has seen, by name, and forgets nothing over it', async () => {
    await claim(NEW);
    const refusal = claim(OLD);
    await expect(refusal).rejects.toThrow(StaleTokenError);
    await expect(refusal).rejects.toMatchObject({ code: 'STALE_TOKEN', resource, token: OLD });
    expect(await database.claimed(resource)).toBe(NEW);
  });

  it('lets the same holder claim again, and a later one take over', async () => {
    await claim(OLD);
    await claim(OLD);
    await claim(NEW);
    expect(await database.claimed(resource)).toBe(NEW);
  });

  it('keeps resources apart, whatever they are called, and tokens exact up to the largest', async () => {
    const names = [`it's "${resource}"; --`, `${resource} ?`, `${resource} $1`, `${resource} é`, `${resource} 漢😀`];
    for (const [index, name] of names.entries()) await claim(Number.MAX_SAFE_INTEGER - index, name);
    for (const [index, name] of names.entries()) {
      expect(await database.claimed(name)).toBe(Number.MAX_SAFE_INTEGER - index);
      await expect(claim(Number.MAX_SAFE_INTEGER - index - 1, name)).rejects.toThrow(StaleTokenError);
    }
  });

  it('claims several resources under one token, and names the one that it is refused', async () => {
    const [first, second] = [`${resource}:a`, `${resource}:b`];
    await claim(NEW, second);
    await expect(claim(OLD, [second, first, first])).rejects.toMatchObject({ code: 'STALE_TOKEN', resource: second });
    await claim(NEW, [second, first]);
    expect(await database.claimed(first)).toBe(NEW);
  });

  it.each([
    ['resource', '', OLD, /^Invalid resource "": name what the token protects/],
    ['resource', undefined, OLD, /^Invalid resource undefined: name/],
    ['resource', [], OLD, /^Invalid resource array: the list is empty/],
    ['resource', ['a', ''], OLD, /^Invalid resource "": name/],
    ['token', 'a', 0, /^Invalid token 0: give `lock\.fencingToken`/],
    ['token', 'a', -1, /^Invalid token -1: give/],
    ['token', 'a', 1.5, /^Invalid token 1\.5: give/],
    ['token', 'a', 2 ** 53, /^Invalid token 9007199254740992: give/],
    ['token', 'a', String(OLD), /^Invalid token "1795974096827585": give/],
    ['token', 'a', undefined, /^Invalid token undefined: give/],
  ])('refuses the %s of (%p, %p) before it asks the database', async (option, name, token, message) => {
    const db: SqlClient = { query: async () => expect('a query').toBe('none') };
    const refusal = claimFence(db, { resource: name as string, token: token as number });
    await expect(refusal).rejects.toThrow(LockOptionsError);
    await expect(refusal).rejects.toMatchObject({ option, message: expect.stringMatching(message) });
  });

  it.each([undefined, null, {}, 'postgres://localhost'])('refuses %p as a database', async (db) => {
    const refusal = claimFence(db as unknown as SqlClient, { resource, token: OLD });
    await expect(refusal).rejects.toThrow(/^Invalid db .*: give something with `query\(sql, params\)`/);
  });

  it.each([undefined, 1, { rowCount: 1 }, { rows: 1 }])(
    'does not take the answer %p for a yes: it says what `query` must return',
    async (answer) => {
      const refusal = claimFence({ query: async () => answer }, { resource, token: OLD });
      await expect(refusal).rejects.toThrow(/^Invalid db .*: its `query` must return the rows/);
    },
  );

  it('says what to run when the table is missing, and with that it works', async () => {
    const client = await database.pool.connect();
    try {
      await client.query('CREATE SCHEMA elsewhere; SET search_path = elsewhere');
      const refusal = claimFence(client, { resource, token: OLD });
      await expect(refusal).rejects.toThrow(LockOptionsError);
      await expect(refusal).rejects.toThrow(/without table fencing_tokens.*`fencingSchemaSql\(\)`/);
      await expect(refusal).rejects.toMatchObject({ cause: { code: '42P01' } });
      await client.query(fencingSchemaSql());
      await client.query(fencingSchemaSql());
      await claimFence(client, { resource, token: OLD });
    } finally {
      client.release(true);
    }
  });

  it('passes on any other error as it is', async () => {
    const failure = Object.assign(new Error('deadlock detected'), { code: '40P01' });
    const db = { query: () => Promise.reject(failure) };
    await expect(claimFence(db, { resource, token: OLD })).rejects.toBe(failure);
  });
});

describe('A claim in a transaction', () => {
  let first: PoolClient;
  let second: PoolClient;

  beforeEach(async () => {
    [first, second] = await Promise.all([database.pool.connect(), database.pool.connect()]);
    await database.pool.query('CREATE TABLE IF NOT EXISTS totals (id text PRIMARY KEY, total int NOT NULL)');
    await database.pool.query('INSERT INTO totals VALUES ($1, 0)', [resource]);
  });
  afterEach(() => {
    first.release(true);
    second.release(true);
  });

  const total = async (client: Pick<PoolClient, 'query'>): Promise<number> =>
    (await client.query<{ total: number }>('SELECT total FROM totals WHERE id = $1', [resource])).rows[0]!.total;
  const write = (client: PoolClient, value: number): Promise<unknown> =>
    client.query('UPDATE totals SET total = $2 WHERE id = $1', [resource, value]);
  const outcome = (promise: Promise<void>): Promise<string> =>
    promise.then(
      () => 'claimed',
      (error: { code: string }) => error.code,
    );

  describe.each([
    ['READ COMMITTED', 'new'],
    ['READ COMMITTED', 'known'],
    ['REPEATABLE READ', 'new'],
    ['REPEATABLE READ', 'known'],
    ['SERIALIZABLE', 'new'],
    ['SERIALIZABLE', 'known'],
  ])('at %s, of a resource that is %s', (isolation, age) => {
    beforeEach(async () => {
      if (age === 'known') await claimFence(database.pool, { resource, token: OLD - 1 });
    });
    const begin = (client: PoolClient): Promise<unknown> => client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
    /** What a claim says that has waited for another to commit: at the higher levels that it must start over. */
    const afterWait = (say: string): string => (isolation === 'READ COMMITTED' ? say : '40001');

    it('keeps a later holder waiting until the commit, and then shows it everything', async () => {
      await begin(first);
      await claimFence(first, { resource, token: OLD });
      await begin(second);
      const claim = outcome(claimFence(second, { resource, token: NEW }));
      await database.waiting();
      await write(first, 1);
      await first.query('COMMIT');

      expect(await claim).toBe(afterWait('claimed'));
      if (isolation !== 'READ COMMITTED') {
        await second.query('ROLLBACK');
        await begin(second);
        await claimFence(second, { resource, token: NEW });
      }
      expect(await total(second)).toBe(1);
      await second.query('COMMIT');
      expect(await database.claimed(resource)).toBe(NEW);
    });

    it('refuses an earlier holder that has waited for the commit of a later one', async () => {
      await begin(second);
      await claimFence(second, { resource, token: NEW });
      await begin(first);
      const claim = outcome(claimFence(first, { resource, token: OLD }));
      await database.waiting();
      await second.query('COMMIT');

      expect(await claim).toBe(afterWait('STALE_TOKEN'));
      await first.query('ROLLBACK');
      await begin(first);
      expect(await outcome(claimFence(first, { resource, token: OLD }))).toBe('STALE_TOKEN');
    });

    it('counts for nothing once it is rolled back', async () => {
      await begin(second);
      await claimFence(second, { resource, token: NEW });
      await begin(first);
      const claim = outcome(claimFence(first, { resource, token: OLD }));
      await database.waiting();
      await second.query('ROLLBACK');

      // Nothing that this transaction sees has changed, so that is so at any level.
      expect(await claim).toBe('claimed');
      await first.query('COMMIT');
      expect(await database.claimed(resource)).toBe(OLD);
    });

    it('keeps nobody waiting who wants another resource', async () => {
      await begin(first);
      await claimFence(first, { resource, token: OLD });
      await begin(second);
      await claimFence(second, { resource: database.resource(), token: OLD });
    });
  });

  it.each(['REPEATABLE READ', 'SERIALIZABLE'])(
    'at %s fails, too, when it comes after a read that others have made untrue since',
    async (isolation) => {
      await claimFence(database.pool, { resource, token: OLD });
      await second.query(`BEGIN ISOLATION LEVEL ${isolation}`);
      expect(await total(second)).toBe(0);
      await first.query('BEGIN');
      await claimFence(first, { resource, token: OLD });
      await write(first, 1);
      await first.query('COMMIT');
      expect(await outcome(claimFence(second, { resource, token: NEW }))).toBe('40001');
    },
  );

  it('of several resources, named in any order, never waits in a circle', async () => {
    const pair = [`${resource}:a`, `${resource}:b`] as const;
    for (let round = 0; round < 10; round++) {
      await Promise.all([first, second].map((client) => client.query('BEGIN')));
      // Whoever gets the first of them gets all of them, and the other waits.
      const finish = async (client: PoolClient, names: readonly string[]): Promise<void> => {
        await claimFence(client, { resource: names, token: OLD });
        await client.query('COMMIT');
      };
      await Promise.all([finish(first, pair), finish(second, [...pair].reverse())]);
    }
  });
});
