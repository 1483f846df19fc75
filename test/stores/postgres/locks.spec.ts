import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { LockManager } from '../../../lib/lock-manager.js';
import { systemRuntime } from '../../../lib/runtime.js';
import { FenceCleaning } from '../../../lib/stores/postgres/fence-cleaning.js';
import { lockId } from '../../../lib/stores/postgres/lock-id.js';
import { clientFactory } from '../../../lib/stores/postgres/pg-client.js';
import { Session } from '../../../lib/stores/postgres/session.js';
import { eventually } from '../../support/eventually.js';
import { PostgresLab } from './postgres-lab.js';

const TTL_MS = 60_000;

describe('Locks in Postgres', () => {
  let lab: PostgresLab;
  beforeAll(async () => void (lab = await PostgresLab.start(['-c', 'log_statement=all'])), 60_000);
  afterEach(async () => {
    await lab.endTest();
    await eventually(async () => expect(await lab.advisoryLocks()).toBe(0));
  });
  afterAll(() => lab?.stop());

  it('exclude between processes: one of many gets a key, its tokens rise from grant to grant', async () => {
    const stores = await Promise.all(Array.from({ length: 6 }, () => lab.open()));
    let inside = 0;
    const tokens: number[] = [];
    const rounds = 40;
    await Promise.all(
      stores.map(async (store, index) => {
        for (let round = 0; round < rounds; round++) {
          const owner = `${index}/${round}`;
          const result = await store.acquire('contended', owner, TTL_MS);
          if (!result.acquired) continue;
          expect(++inside).toBe(1);
          tokens.push(result.fencingToken);
          // Every other time the release writes to the same row, which a contender then waits for.
          inside--;
          await store.release('contended', owner, round % 2 ? 1 : 0);
        }
      }),
    );
    expect(tokens.length).toBeGreaterThan(rounds / 2);
    expect(tokens).toEqual([...new Set(tokens)].sort((one, other) => one - other));
  });

  it('give a token above the last when the clock of the server is behind it', async () => {
    const store = await lab.open();
    const first = await store.acquire('ahead', 'o', TTL_MS);
    const far = (first as { fencingToken: number }).fencingToken + 3_600_000_000;
    await store.raise('ahead', 'o', far);
    await store.release('ahead', 'o');
    expect(await store.acquire('ahead', 'p', TTL_MS)).toEqual({ acquired: true, fencingToken: far + 1 });
  });

  it("do not dead-lock with a pool of two, and waiters take none of the database's connections", async () => {
    const store = await lab.open();
    const locks = new LockManager(store);
    const pool = new pg.Pool({ connectionString: lab.server.url, max: 2 });
    lab.onEnd(() => pool.end());
    const before = (await lab.rows(`select from pg_stat_activity where backend_type = 'client backend'`)).length;
    const work = (key: string) => locks.withLock(key, { wait: '20s' }, () => pool.query('select pg_sleep(0.01)'));
    const [held, free] = [await locks.acquire('a'), await locks.acquire('b')];
    const waiting = Array.from({ length: 10 }, (_, index) => work(index % 2 ? 'a' : 'b'));
    await eventually(async () => expect(await lab.advisoryLocks()).toBe(4)); // two held, two waited for
    const during = (await lab.rows(`select from pg_stat_activity where backend_type = 'client backend'`)).length;
    expect(during).toBeLessThanOrEqual(before + 1);
    await Promise.all([held.release(), free.release()]);
    await Promise.all([...waiting, work('c'), work('d')]);
    await locks.shutdown();
  });

  it('leave a kept key taken when the process that released it is gone', async () => {
    const [first, second] = [await lab.open(), await lab.open()];
    await first.acquire('kept', 'o', TTL_MS);
    await first.release('kept', 'o', TTL_MS);
    await first.close();
    const refused = await second.acquire('kept', 'p', TTL_MS);
    expect(refused).toMatchObject({ acquired: false, retryAfterMs: expect.any(Number) });
    expect(await second.inspect('kept')).toMatchObject({ locked: true, owner: 'o' });
    await lab.rows('update distributed_lock_fence set kept_until = clock_timestamp()');
    expect(await second.acquire('kept', 'p', TTL_MS)).toMatchObject({ acquired: true });
  });

  it('are not given out between the unlock and the commit of a release that keeps the key', async () => {
    const [first, second] = [await lab.open(), await lab.open()];
    await first.acquire('keeping', 'o', TTL_MS);
    // The release is held up at its very end, when it has unlocked already.
    await lab.rows(`
      create function dawdle() returns trigger language plpgsql as 'begin perform pg_sleep(0.5); return null; end';
      create constraint trigger dawdle after update on distributed_lock_fence deferrable initially deferred
        for each row when (new.key = 'keeping' and new.kept_until is not null) execute function dawdle();`);
    lab.onEnd(() => lab.rows('drop function dawdle cascade'));
    const released = first.release('keeping', 'o', TTL_MS);
    await eventually(async () => expect(await lab.advisoryLocks()).toBe(0));
    expect(await second.acquire('keeping', 'p', TTL_MS)).toMatchObject({ acquired: false });
    expect(await released).toBe(true);
  });

  it('leave nothing locked when the statement fails after it took the lock', async () => {
    const [store, other] = [await lab.open(), await lab.open()];
    await lab.rows(`
      create function fail() returns trigger language plpgsql as 'begin raise exception ''disk full''; end';
      create trigger fail before insert on distributed_lock_fence for each row execute function fail();`);
    await expect(store.acquire('failing', 'o', TTL_MS)).rejects.toThrow(/postgres 127\.0\.0\.1:\d+: disk full/);
    await lab.rows('drop function fail cascade');
    // It is given back on the first session: the second may be faster.
    await eventually(async () => expect(await other.acquire('failing', 'o', TTL_MS)).toMatchObject({ acquired: true }));
    expect(await store.acquire('failing', 'p', TTL_MS)).toEqual({ acquired: false });
  });

  it('use prepared statements, and one short query for all renewals of a tick', async () => {
    const store = await lab.open({ heartbeat: '20s' });
    const keys = ['p1', 'p2', 'p3'];
    await store.inspect('p1'); // by then all that a new session is told has been said
    const log = await lab.logFromNow();
    for (const key of keys) await store.acquire(key, 'o', TTL_MS);
    expect(await Promise.all(keys.map((key) => store.renew(key, 'o', TTL_MS)))).toEqual([true, true, true]);
    for (const key of keys) await store.release(key, 'o');
    await eventually(() => expect(log().match(/execute lock_release:/g)).toHaveLength(3));
    expect(log().match(/execute lock_acquire:/g)).toHaveLength(3);
    expect(log().match(/execute lock_alive:/g)).toHaveLength(1);
    expect(log()).not.toContain('statement: ');
  });

  it('wake who waits in another process, without its polling', async () => {
    const [holder, waiter] = [await lab.open(), await lab.open()];
    await holder.acquire('woken', 'o', TTL_MS);
    const heard: (string | undefined)[] = [];
    const listener = new pg.Client(lab.server.url);
    listener.on('notification', ({ payload }) => heard.push(payload));
    await listener.connect();
    lab.onEnd(() => listener.end());
    await listener.query('listen distributed_lock_free');
    let woken = 0;
    const stop = waiter.onFree('woken', () => woken++);
    await eventually(() => expect(woken).toBe(1)); // it may have come free before anyone knew of this waiter
    await holder.release('woken', 'o');
    await eventually(() => expect(woken).toBe(2));
    stop();
    await eventually(async () => expect(await lab.advisoryLocks()).toBe(0));
    await holder.acquire('woken', 'p', TTL_MS);
    await holder.release('woken', 'p');
    await listener.query("notify distributed_lock_free, 'end'");
    await eventually(() => expect(heard.at(-1)).toBe('end'));
    expect(heard).toEqual([lockId('woken').lock, 'end']);
    expect(woken).toBe(2);
  });

  it('wake again after a reconnect, and when a lease is over', async () => {
    const [holder, waiter] = [await lab.open(), await lab.open()];
    let woken = 0;
    const stop = waiter.onFree('again', () => woken++);
    await eventually(() => expect(woken).toBe(1));
    await lab.terminate();
    await eventually(() => expect(woken).toBe(2));
    await eventually(async () => expect(await holder.acquire('again', 'o', 300)).toMatchObject({ acquired: true }));
    await eventually(() => expect(woken).toBe(3));
    stop();
  });

  it('forget the fences of keys that nobody has locked for a day, and no others', async () => {
    const store = await lab.open();
    await store.acquire('held', 'o', TTL_MS);
    await store.acquire('new', 'o', TTL_MS);
    await store.release('new', 'o');
    await lab.rows(`insert into distributed_lock_fence (id, key, token, kept_until) values
      (1, 'old', 5, null), (2, 'old and kept', 5, clock_timestamp() + interval '1 hour'), (3, 'was kept', 5, clock_timestamp())`);
    await lab.rows(
      `insert into distributed_lock_fence (id, key, token) select n, 'many', 5 from generate_series(1000, 3000) as n`,
    );
    await lab.rows('update distributed_lock_fence set token = 5 where id = $1', [lockId('held').lock]);
    const session = new Session((await clientFactory({ connectionString: lab.server.url }))(), {
      heartbeatMs: 20_000,
      timeoutMs: 20_000,
    });
    lab.onEnd(() => session.close(new Error('done'), 1000));
    await session.connect();
    await new FenceCleaning(systemRuntime).run(session);
    const left = await lab.rows(
      `select key from distributed_lock_fence where key in ('old', 'old and kept', 'was kept', 'held', 'new', 'many')`,
    );
    expect(left.map(({ key }) => key).sort()).toEqual(['held', 'new', 'old and kept']);
    await lab.rows('update distributed_lock_fence set token = 5 where kept_until is null');
    await store.release('held', 'o');
    const [other] = [new FenceCleaning(systemRuntime)];
    const second = new Session((await clientFactory({ connectionString: lab.server.url }))(), {
      heartbeatMs: 20_000,
      timeoutMs: 20_000,
    });
    lab.onEnd(() => second.close(new Error('done'), 1000));
    await second.connect();
    await other.run(second);
    expect(await lab.rows(`select from distributed_lock_fence where key = 'held'`)).toHaveLength(1); // one process does it
  });
});
