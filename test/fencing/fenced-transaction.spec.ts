import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import pg from 'pg';
import { LockOptionsError, StaleTokenError } from '../../lib/errors.js';
import { claimFence } from '../../lib/fencing/claim-fence.js';
import { fencedTransaction, type SqlPool } from '../../lib/fencing/fenced-transaction.js';
import { eventually } from '../support/eventually.js';
import { PostgresFixture } from './postgres-fixture.js';

const OLD = 1_795_974_096_827_585;
const NEW = OLD + 1;

describe('fencedTransaction on PostgreSQL', () => {
  let database: PostgresFixture;
  let pool: pg.Pool;
  let resource: string;

  beforeAll(async () => {
    database = await PostgresFixture.start();
    pool = database.pool;
    await pool.query('CREATE TABLE totals (id text PRIMARY KEY, total int CHECK (total >= 0))');
  });
  afterAll(() => database.stop());
  beforeEach(async () => {
    resource = database.resource();
    await pool.query('INSERT INTO totals VALUES ($1, 0)', [resource]);
  });

  const total = async (): Promise<number> =>
    (await pool.query<{ total: number }>('SELECT total FROM totals WHERE id = $1', [resource])).rows[0]!.total;
  const add = (tx: Pick<pg.PoolClient, 'query'>, amount: number): Promise<unknown> =>
    tx.query('UPDATE totals SET total = total + $2 WHERE id = $1', [resource, amount]);
  /** All connections are back in the pool, so none was given back twice or not at all. */
  const expectAllBack = (): void => expect([pool.idleCount, pool.waitingCount]).toEqual([pool.totalCount, 0]);

  it('claims, works, commits, and returns what the work returned', async () => {
    const result = await fencedTransaction(pool, { resource, token: NEW }, async (tx) => {
      await add(tx, 5);
      expect(await total()).toBe(0); // others do not see it yet
      return 'done' as const;
    });
    expect(result satisfies 'done').toBe('done');
    expect(await total()).toBe(5);
    expect(await database.claimed(resource)).toBe(NEW);
    expectAllBack();
  });

  it('hands out the connection of the pool, with its own type', async () => {
    await fencedTransaction(pool, { resource, token: NEW }, (tx) => {
      expect(tx satisfies pg.PoolClient).toBeInstanceOf(pg.Client);
    });
  });

  it('refuses a lower token before any work is done', async () => {
    await fencedTransaction(pool, { resource, token: NEW }, (tx) => add(tx, 5));
    let worked = false;
    const refusal = fencedTransaction(pool, { resource, token: OLD }, async () => (worked = true));
    await expect(refusal).rejects.toThrow(StaleTokenError);
    expect(worked).toBe(false);
    expectAllBack();
  });

  it('lets a job of several transactions claim in each', async () => {
    for (let step = 0; step < 3; step++) await fencedTransaction(pool, { resource, token: NEW }, (tx) => add(tx, 1));
    expect(await total()).toBe(3);
  });

  it('runs the transactions of one resource one after the other', async () => {
    const log: string[] = [];
    let enter!: () => void;
    const entered = new Promise<void>((resolve) => (enter = resolve));
    let leave!: () => void;
    const left = new Promise<void>((resolve) => (leave = resolve));
    const first = fencedTransaction(pool, { resource, token: OLD }, async () => {
      enter();
      await left;
      log.push('first');
    });
    await entered;
    const second = fencedTransaction(pool, { resource, token: NEW }, async () => log.push('second'));
    await database.waiting();
    leave();
    await Promise.all([first, second]);
    expect(log).toEqual(['first', 'second']);
  });

  it('rolls back everything, the claim too, and passes on the very error of the work', async () => {
    const failure = new Error('no stamps left');
    const work = fencedTransaction(pool, { resource, token: NEW }, async (tx) => {
      await add(tx, 5);
      throw failure;
    });
    await expect(work).rejects.toBe(failure);
    expect(await total()).toBe(0);
    expect(await database.claimed(resource)).toBeUndefined();
    expectAllBack();
    await fencedTransaction(pool, { resource, token: OLD }, (tx) => add(tx, 1));
  });

  it('rolls back for work that throws before it returns a promise, and for a failed statement', async () => {
    const thrown = fencedTransaction(pool, { resource, token: NEW }, () => {
      throw new RangeError('at once');
    });
    await expect(thrown).rejects.toThrow(RangeError);
    await expect(fencedTransaction(pool, { resource, token: NEW }, (tx) => add(tx, -1))).rejects.toThrow('totals');
    expect(await database.claimed(resource)).toBeUndefined();
    expectAllBack();
  });

  it('does not call that a success which the server rolled back since the work hid a failed statement', async () => {
    const work = fencedTransaction(pool, { resource, token: NEW }, async (tx) => {
      await add(tx, 5);
      await add(tx, -100).catch(() => undefined);
      return 'done';
    });
    await expect(work).rejects.toThrow(/rolled back at its end.*savepoint/);
    expect(await total()).toBe(0);
    expectAllBack();
  });

  it('passes on what only the commit finds out, and keeps the connection', async () => {
    await pool.query('CREATE TABLE IF NOT EXISTS parents (id text PRIMARY KEY)');
    await pool.query(
      'CREATE TABLE IF NOT EXISTS children (parent text REFERENCES parents DEFERRABLE INITIALLY DEFERRED)',
    );
    const work = fencedTransaction(pool, { resource, token: NEW }, (tx) =>
      tx.query("INSERT INTO children VALUES ('nobody')"),
    );
    await expect(work).rejects.toMatchObject({ code: '23503' });
    expect(await database.claimed(resource)).toBeUndefined();
    expectAllBack();
  });

  it('survives a connection that breaks between two statements: the next one fails, and the pool drops it', async () => {
    const before = pool.totalCount;
    let broken: pg.PoolClient | undefined;
    const work = fencedTransaction(pool, { resource, token: NEW }, async (tx) => {
      broken = tx;
      const { rows } = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      const ended = new Promise((resolve) => tx.once('end', resolve));
      await pool.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
      await ended; // and nothing listened to its error but fencedTransaction
      await add(tx, 5);
    });
    await expect(work).rejects.toThrow(/not queryable|terminat/i);
    await eventually(() => expect(pool.totalCount).toBeLessThanOrEqual(before));
    expect(broken!.listenerCount('error')).toBeGreaterThan(0); // the pool's own
    expect(await total()).toBe(0);
    expectAllBack();
    await fencedTransaction(pool, { resource, token: NEW }, (tx) => add(tx, 5));
  });

  it('leaves no listener on connections that go back', async () => {
    let client: pg.PoolClient | undefined;
    const counts: number[] = [];
    for (let round = 0; round < 3; round++) {
      await fencedTransaction(pool, { resource, token: NEW }, async (tx) => void (client = tx));
      counts.push(client!.listenerCount('error'));
    }
    expect(new Set(counts).size).toBe(1);
  });

  it('refuses a client in place of a pool', async () => {
    const client = new pg.Client(database.server.url);
    try {
      const refusal = fencedTransaction(client as unknown as pg.Pool, { resource, token: NEW }, async () => 1);
      await expect(refusal).rejects.toThrow(
        /^Invalid pool object: its connections have no `release\(\)`.*`claimFence`/,
      );
    } finally {
      await client.end();
    }
  });
});

/** A connection that fails where it is told, and remembers what was asked of it. */
class ScriptedClient extends EventEmitter {
  readonly log: string[] = [];

  constructor(private readonly failures: Record<string, Error> = {}) {
    super();
  }

  async query(sql: string): Promise<unknown> {
    const verb = sql.split(' ')[0]!;
    this.log.push(verb);
    if (this.failures[verb]) throw this.failures[verb];
    return { rows: [{}], command: verb };
  }

  release(destroy = false): void {
    this.log.push(destroy ? 'destroyed' : 'released');
  }
}

describe('fencedTransaction gives its connection back exactly once', () => {
  const failure = new Error('the work failed');
  const broken = new Error('connection lost');
  const fence = { resource: 'a', token: 1 };

  it.each([
    ['after a commit', {}, true, ['BEGIN', 'INSERT', 'COMMIT', 'released'], undefined],
    ['after a rollback', {}, false, ['BEGIN', 'INSERT', 'ROLLBACK', 'released'], failure],
    [
      'for destruction when the rollback fails, and the error of the work wins',
      { ROLLBACK: broken },
      false,
      ['BEGIN', 'INSERT', 'ROLLBACK', 'destroyed'],
      failure,
    ],
    [
      'for destruction when nobody knows whether it has committed',
      { COMMIT: broken, ROLLBACK: new Error('still lost') },
      true,
      ['BEGIN', 'INSERT', 'COMMIT', 'ROLLBACK', 'destroyed'],
      broken,
    ],
    [
      'for destruction when it could not begin',
      { BEGIN: broken, ROLLBACK: broken },
      true,
      ['BEGIN', 'ROLLBACK', 'destroyed'],
      broken,
    ],
    ['when the claim fails', { INSERT: broken }, true, ['BEGIN', 'INSERT', 'ROLLBACK', 'released'], broken],
  ] as const)('%s', async (_, failures, works, log, error) => {
    const client = new ScriptedClient(failures);
    const pool = { connect: async () => client };
    const run = fencedTransaction(pool, fence, () => (works ? 'done' : Promise.reject(failure)));
    if (error) await expect(run).rejects.toBe(error);
    else expect(await run).toBe('done');
    expect(client.log).toEqual(log);
    expect(client.listenerCount('error')).toBe(0);
  });

  it('and takes none for bad input, nor hides why there is none', async () => {
    let asked = 0;
    const pool: SqlPool = { connect: () => (asked++, Promise.reject(broken)) };
    const run = (resource: string, token: number) => fencedTransaction(pool, { resource, token }, () => 1);
    await expect(run('', 1)).rejects.toThrow(LockOptionsError);
    await expect(run('a', 0)).rejects.toThrow(LockOptionsError);
    expect(asked).toBe(0);
    await expect(run('a', 1)).rejects.toBe(broken);
  });

  it.each([undefined, null, {}, { transaction: () => 1 }, claimFence])('refuses %p as a pool', async (pool) => {
    const refusal = fencedTransaction(pool as unknown as SqlPool, fence, () => 1);
    await expect(refusal).rejects.toThrow(
      /^Invalid pool .*: give a pool of pg\. With other libraries call `claimFence`/,
    );
  });
});
