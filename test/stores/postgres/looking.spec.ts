import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { LockUnavailableError } from '../../../lib/errors.js';
import { LockManager } from '../../../lib/lock-manager.js';
import type { KeyState, LockStore } from '../../../lib/stores/lock-store.js';
import { connectPostgres } from '../../../lib/stores/postgres/index.js';
import { ChildProcess } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { PostgresLab } from './postgres-lab.js';

const TTL_MS = 600_000;

async function all(store: LockStore, prefix = '', limit = 1000): Promise<KeyState[]> {
  const found: KeyState[] = [];
  for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
    const page = await store.list!({ prefix, limit, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.keys);
    ({ cursor } = page);
  }
  return found;
}

describe('Looking at the locks in Postgres', () => {
  let lab: PostgresLab;
  beforeAll(async () => void (lab = await PostgresLab.start()), 60_000);
  afterEach(async () => {
    await lab.endTest();
    await eventually(async () => expect(await lab.advisoryLocks()).toBe(0));
  });
  afterAll(() => lab?.stop());

  it('finds the few that are held among many rows that are not', async () => {
    const [holder, viewer] = [await lab.open(), await lab.open()];
    await lab.rows(
      `insert into distributed_lock_fence (id, key, token) select n::bigint * 1000003, 'past:' || n, 1 from generate_series(1, 30000) as n`,
    );
    const keys = Array.from({ length: 30 }, (_, index) => `held:${index}`);
    for (const key of keys) await holder.acquire(key, 'o', TTL_MS);
    for (const limit of [4, 1000]) {
      const found = await all(viewer, '', limit);
      expect(found.map(({ key }) => key).sort()).toEqual([...keys].sort());
      expect(found[0]).toMatchObject({ locked: true, owner: 'o', fencingToken: expect.any(Number) });
    }
    await lab.rows('delete from distributed_lock_fence');
  });

  it('says of a lock of its own how long its lease still runs, and of each how many processes wait', async () => {
    const [holder, waiter] = [new LockManager(await lab.open()), new LockManager(await lab.open())];
    const lock = await holder.acquire('wanted', { ttl: '60s' });
    const waiting = waiter.acquire('wanted', { wait: '30s' });
    await eventually(async () => expect(await holder.inspect('wanted')).toMatchObject({ waiters: 1 }));
    const info = await holder.inspect('wanted');
    expect(info).toMatchObject({ locked: true, pid: process.pid, since: expect.any(Date) });
    expect(info.remainingMs).toBeLessThanOrEqual(60_000);
    await lock.release();
    await (await waiting).release();
  });

  it('takes a lock by force from another process: its holder is told by the next renewal, and by nothing else it holds', async () => {
    const [holder, waiter] = [new LockManager(await lab.open()), new LockManager(await lab.open())];
    const [lock, spared] = [
      await holder.acquire('forced', { ttl: '3s' }),
      await holder.acquire('spared', { ttl: '3s' }),
    ];
    const lost = new Promise((resolve) => lock.signal.addEventListener('abort', () => resolve(lock.signal.reason)));
    const waiting = waiter.acquire('forced', { wait: '30s' });
    await eventually(async () => expect(await waiter.inspect('forced')).toMatchObject({ waiters: 1 }));
    expect(await waiter.forceRelease('forced')).toBe(true);
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await lost).toMatchObject({ reason: 'taken' });
    expect([next.held, spared.held]).toEqual([true, true]);
    await Promise.all([next.release(), spared.release()]);
  });

  it('cannot take it from a process that is frozen, and says which session to end', async () => {
    const holder = await ChildProcess.start('test/stores/postgres/fixtures/holder.ts', {
      args: [lab.server.url, 'stuck', '60000', '60s'],
    });
    lab.onEnd(() => holder.kill());
    await holder.next();
    const viewer = await lab.open({ timeout: '500ms' });
    holder.freeze();
    const refused = await viewer.forceRelease('stuck').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LockUnavailableError);
    const [{ pid }] = await lab.rows(`select pid from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock'`);
    expect((refused as Error).message).toContain(`pg_terminate_backend(${pid})`);
    expect(await viewer.inspect('stuck')).toMatchObject({ locked: true });
    await lab.rows('select pg_terminate_backend($1)', [pid]);
    await eventually(async () => expect(await viewer.inspect('stuck')).toMatchObject({ locked: false }));
  });

  it('takes a lock that is a transaction by force from either kind of store, and leaves other locks alone', async () => {
    const connection = lab.server.url;
    const byTransaction = () =>
      connectPostgres({ connection, mode: 'transaction', timeout: '20s' }).then((store) => {
        lab.onEnd(() => store.close());
        return store;
      });
    const [holder, viewer, sessions] = [await byTransaction(), await byTransaction(), await lab.open()];
    for (const taker of [viewer, sessions]) {
      const { fencingToken: first } = (await holder.acquire('forced', `o ${taker === viewer}`, TTL_MS)) as {
        fencingToken: number;
      };
      await holder.acquire('spared', 'o', TTL_MS);
      expect((await all(taker)).map(({ key }) => key).sort()).toEqual(['forced', 'spared']);
      expect(await taker.forceRelease('forced')).toBe(true);
      expect(await holder.renew('forced', `o ${taker === viewer}`, TTL_MS).catch(() => false)).toBe(false);
      const next = await sessions.acquire('forced', 'p', TTL_MS);
      expect(next).toMatchObject({ acquired: true });
      expect((next as { fencingToken: number }).fencingToken).toBeGreaterThan(first);
      expect(await holder.renew('spared', 'o', TTL_MS)).toBe(true);
      await sessions.release('forced', 'p');
      await holder.release('spared', 'o');
    }
    // A lock of a session may be one of many.
    await sessions.acquire('of a session', 'o', TTL_MS);
    await sessions.acquire('another', 'o', TTL_MS);
    expect(await viewer.forceRelease('of a session')).toBe(true);
    expect(await sessions.renew('another', 'o', TTL_MS)).toBe(true);
  });
});
