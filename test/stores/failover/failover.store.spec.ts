import { describe, expect, it, jest } from '@jest/globals';
import { validity, outlasting } from '../../../lib/deadline.js';
import { LockUnavailableError } from '../../../lib/errors.js';
import { LockManager } from '../../../lib/lock-manager.js';
import type { AuthorityState } from '../../../lib/stores/failover/authority.js';
import type { AcquireResult } from '../../../lib/stores/lock-store.js';
import type { StoreHealth } from '../../../lib/stores/store-health.js';
import { ManualRuntime } from '../../../lib/testing/manual-runtime.js';
import { FailoverBench, LEASE_MS, PrimaryStandIn, TTL_MS } from './stand-ins.js';

function tokenOf(result: AcquireResult): number {
  if (!result.acquired) throw new Error('refused');
  return result.fencingToken;
}

async function unavailable(asked: Promise<unknown>): Promise<string> {
  const error: unknown = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(LockUnavailableError);
  return (error as Error).message;
}

describe('FailoverStore', () => {
  describe('in REDIS', () => {
    it('asks Redis alone, above the floor', async () => {
      const { store, redis, postgres, lease } = await FailoverBench.start();
      postgres.row = { ...postgres.row, tokenFloor: 77 };
      await lease.look();
      tokenOf(await store.acquire('k', 'o', TTL_MS));
      expect(redis.floor).toBe(77);
      expect((await redis.inspect('k')).owner).toBe('o');
      expect(await postgres.inspect('k')).toEqual({ locked: false });
      expect(await store.renew('k', 'o', TTL_MS)).toBe(true);
      expect(await store.release('k', 'o')).toBe(true);
    });

    it('has whose turn it is ask for a token above the floor', async () => {
      const { store, redis } = await FailoverBench.start();
      const asked = jest.spyOn(redis, 'acquire');
      const place = { stands: true, after: 'before', wake: () => undefined };
      await store.acquire('k', 'o', TTL_MS, place);
      expect(asked.mock.lastCall).toEqual(['k', 'o', TTL_MS, place]);
      expect('take' in store).toBe(false);
    });

    it('gives up the place that an attempt had in line on Redis once the next in its stead goes elsewhere', async () => {
      for (const state of ['REDIS', 'DRAINING', 'POSTGRES'] as const) {
        const left: string[] = [];
        const leave = (key: string, owner: string): void => void left.push(`${owner} of ${key}`);
        const runtime = new ManualRuntime();
        const redis = Object.assign(new PrimaryStandIn(runtime), { leave });
        const bench = new FailoverBench({}, runtime, redis);
        await bench.lease.start();
        await bench.to(state);
        for (const after of ['before', undefined]) {
          const asked = bench.store.acquire('k', 'o', TTL_MS, { stands: true, after });
          await (state === 'DRAINING' ? unavailable(asked) : asked);
        }
        expect({ state, left }).toEqual({ state, left: state === 'REDIS' ? [] : ['before of k'] });
      }
    });

    it('announces a ttl that the row does not know before it asks Redis', async () => {
      const { store, redis, postgres } = await FailoverBench.start();
      const asked = jest.spyOn(redis, 'acquire');
      asked.mockImplementationOnce(async () => {
        expect(postgres.row.ttlMs).toBe(2 * TTL_MS);
        return { acquired: true, fencingToken: 5 };
      });
      expect(await store.acquire('k', 'o', 2 * TTL_MS)).toEqual({ acquired: true, fencingToken: 5 });
      expect(asked).toHaveBeenCalledTimes(1);
    });

    it('takes no grant that came after the authority had moved on, and gives it back', async () => {
      const { store, redis, postgres, runtime } = await FailoverBench.start();
      const { acquire } = redis;
      redis.acquire = async (...args) => {
        const result = await acquire.apply(redis, args);
        runtime.pause(LEASE_MS); // the process stands still, and wakes in another epoch
        postgres.to('DRAINING');
        return result;
      };
      expect(await unavailable(store.acquire('k', 'o', TTL_MS))).toMatch(/no longer decides/);
      expect(await redis.inspect('k')).toEqual({ locked: false });
    });

    it('takes a token above the ceiling only once the ceiling is lifted', async () => {
      const { store, postgres, lease } = await FailoverBench.start();
      postgres.row = { ...postgres.row, tokenCeiling: 1 };
      await lease.look();
      expect(await unavailable(store.acquire('k', 'o', TTL_MS))).toMatch(/no longer decides/);
      const { consult } = postgres;
      postgres.consult = async (report) => {
        const row = await consult.call(postgres, report);
        return (postgres.row = { ...row, tokenCeiling: report.tokenSeen });
      };
      const token = tokenOf(await store.acquire('l', 'o', TTL_MS));
      expect(postgres.row.tokenCeiling).toBeGreaterThanOrEqual(token);
    });

    it('refuses when the row is out of reach and the lease is over, naming Postgres, and never says busy: strict', async () => {
      const { store, postgres, runtime } = await FailoverBench.start();
      expect((await store.acquire('held', 'o', TTL_MS)).acquired).toBe(true);
      postgres.trouble = 'postgres db:5432: no answer within 2000 ms';
      await runtime.advance(validity(LEASE_MS) - 1);
      expect((await store.acquire('k', 'o', TTL_MS)).acquired).toBe(true);
      await runtime.advance(1);
      for (const asked of [store.acquire('l', 'o', TTL_MS), store.renew('held', 'o', TTL_MS)]) {
        expect(await unavailable(asked)).toMatch(/authority row is out of reach: postgres db:5432: no answer.*Check/);
      }
      expect(await store.release('held', 'o')).toBe(true);
    });

    it('goes on: available', async () => {
      const { store, postgres, runtime } = await FailoverBench.start({ policy: 'available' });
      postgres.trouble = 'no answer';
      await runtime.advance(2 * LEASE_MS);
      // Also with a ttl that cannot be announced.
      expect((await store.acquire('k', 'o', 2 * TTL_MS)).acquired).toBe(true);
      expect(await store.renew('k', 'o', TTL_MS)).toBe(true);
    });
  });

  describe('in DRAINING', () => {
    it('grants nothing, and says why, for how long at most, and what to do', async () => {
      const bench = await FailoverBench.start();
      bench.postgres.to('DRAINING', '2 of 3 processes have lost Redis');
      await bench.lease.look();
      const message = await unavailable(bench.store.acquire('k', 'o', TTL_MS));
      expect(message).toContain('2 of 3 processes have lost Redis');
      expect(message).toContain(`try again in ${Math.ceil(outlasting(LEASE_MS + TTL_MS) / 1000)} s`);
    });

    it('renews on Redis while the old lease lasts, then on neither, then carries over with its token', async () => {
      const bench = await FailoverBench.start();
      const { store, redis, postgres, runtime } = bench;
      await store.acquire('k', 'o', TTL_MS);
      await bench.to('DRAINING');
      expect(await store.renew('k', 'o', TTL_MS)).toBe(true);
      await runtime.advance(outlasting(LEASE_MS) - 1);
      expect(await unavailable(store.renew('k', 'o', TTL_MS))).toMatch(/does not decide at present/);
      await runtime.advance(1);
      expect(await store.renew('k', 'o', TTL_MS)).toBe(true);
      expect([...postgres.alone]).toEqual(['k']);
      expect(await redis.inspect('k')).toEqual({ locked: false });
      expect(await store.renew('k', 'o', TTL_MS)).toBe(true);
      await bench.to('POSTGRES');
      expect(await store.acquire('k', 'p', TTL_MS)).toMatchObject({ acquired: false });
      expect(await store.release('k', 'o')).toBe(true);
      expect([...postgres.alone]).toEqual([]);
    });

    it('carries nothing over that someone else has taken', async () => {
      const bench = await FailoverBench.start();
      await bench.store.acquire('k', 'o', TTL_MS);
      await bench.to('DRAINING');
      await bench.runtime.advance(outlasting(LEASE_MS));
      await bench.postgres.acquire('k', 'someone', TTL_MS);
      expect(await bench.store.renew('k', 'o', TTL_MS)).toBe(false);
    });

    it('carries nothing over in a later epoch than it has seen', async () => {
      const bench = await FailoverBench.start();
      await bench.store.acquire('k', 'o', TTL_MS);
      await bench.to('DRAINING');
      await bench.runtime.advance(outlasting(LEASE_MS));
      bench.postgres.to('POSTGRES');
      expect(await unavailable(bench.store.renew('k', 'o', TTL_MS))).toMatch(/authority has changed meanwhile/);
    });

    it('leaves nothing in Postgres of a lock that is released while it is carried over', async () => {
      const bench = await FailoverBench.start();
      const { store, postgres, redis, runtime } = bench;
      await store.acquire('k', 'o', TTL_MS);
      await bench.to('DRAINING');
      await runtime.advance(outlasting(LEASE_MS));
      let open!: () => void;
      postgres.gate = new Promise((resolve) => (open = resolve));
      const renewed = store.renew('k', 'o', TTL_MS);
      expect(await store.release('k', 'o')).toBe(true);
      open();
      await renewed;
      await runtime.advance(0);
      expect([await postgres.inspect('k'), await redis.inspect('k'), postgres.alone.size]).toEqual([
        { locked: false },
        { locked: false },
        0,
      ]);
    });

    it('goes back to Redis with what it holds there', async () => {
      const bench = await FailoverBench.start();
      await bench.store.acquire('k', 'o', TTL_MS);
      await bench.to('DRAINING');
      await bench.runtime.advance(LEASE_MS);
      await bench.to('REDIS');
      expect(await bench.store.renew('k', 'o', TTL_MS)).toBe(true);
      expect((await bench.redis.inspect('k')).locked).toBe(true);
    });
  });

  describe('in POSTGRES', () => {
    it('announces a ttl that the row does not know: a switch to come has to wait for it', async () => {
      const bench = await FailoverBench.start();
      await bench.to('POSTGRES');
      await bench.store.acquire('k', 'o', 2 * TTL_MS);
      expect(bench.postgres.row.ttlMs).toBe(2 * TTL_MS);
    });
  });

  describe('in BOTH', () => {
    it('takes the key on both, and none when either refuses', async () => {
      const bench = await FailoverBench.start();
      const { store, redis, postgres, runtime } = bench;
      await bench.to('BOTH');
      tokenOf(await store.acquire('k', 'o', TTL_MS));
      expect([(await redis.inspect('k')).locked, (await postgres.inspect('k')).locked]).toEqual([true, true]);
      await redis.acquire('on redis', 'x', TTL_MS);
      await postgres.acquire('on postgres', 'x', TTL_MS);
      expect(await store.acquire('on redis', 'o', TTL_MS)).toMatchObject({ acquired: false });
      expect(await store.acquire('on postgres', 'o', TTL_MS)).toMatchObject({ acquired: false });
      await runtime.advance(0);
      expect((await postgres.inspect('on redis')).locked).toBe(false);
      expect(await redis.inspect('on postgres')).toEqual({ locked: false });
    });

    it('knows of nothing on Redis that lasts: Postgres decides after a while, so who waits may wait', async () => {
      for (const state of ['REDIS', 'BOTH'] as const) {
        const bench = await FailoverBench.start();
        await bench.to(state);
        const { store, redis } = bench;
        const cause = { node: 'a', reason: 'OOM', untilMs: 5 };
        redis.acquire = () => Promise.reject(new LockUnavailableError('k', [{ ...cause, lasting: true }]));
        const error = await store.acquire('k', 'o', TTL_MS).catch((thrown: LockUnavailableError) => thrown);
        expect((error as LockUnavailableError).causes).toEqual([cause]);
        const locks = new LockManager(store);
        const ended = new AbortController();
        const waiting = locks.acquire('k', { wait: '1m', signal: ended.signal });
        setImmediate(() => ended.abort('waited'));
        await expect(waiting).rejects.toBe('waited');
      }
    });

    it('takes none while Redis fails, and calls that unavailable', async () => {
      const bench = await FailoverBench.start();
      await bench.to('BOTH');
      bench.redis.down = true;
      await expect(bench.store.acquire('k', 'o', TTL_MS)).rejects.toThrow('Redis is down');
      await bench.runtime.advance(0);
      expect((await bench.postgres.inspect('k')).locked).toBe(false);
    });

    it('gives several keys one token, above which each goes on, wherever it is decided next', async () => {
      const bench = await FailoverBench.start();
      const { store, redis, postgres, runtime } = bench;
      await bench.to('BOTH');
      const manager = new LockManager(store, {}, runtime);
      const lock = await manager.acquire(['a', 'b']);
      for (const key of ['a', 'b']) {
        expect((await redis.inspect(key)).fencingToken).toBeGreaterThanOrEqual(lock.fencingToken);
        expect((await postgres.inspect(key)).fencingToken).toBeGreaterThanOrEqual(lock.fencingToken);
      }
      await lock.release();
      const next = await manager.acquire(['b', 'c']);
      expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
      await bench.to('REDIS');
      await next.release();
      expect((await manager.acquire('b')).fencingToken).toBeGreaterThan(next.fencingToken);
    });

    it('puts the fence of Redis above the token, and lifts both', async () => {
      const bench = await FailoverBench.start();
      const { store, redis, postgres } = bench;
      await postgres.acquire('other', 'x', TTL_MS);
      const far = 2 ** 51;
      await postgres.raise('other', 'x', far);
      await bench.to('BOTH');
      const token = tokenOf(await store.acquire('k', 'o', TTL_MS));
      expect(token).toBeGreaterThan(far);
      expect((await redis.inspect('k')).fencingToken).toBeGreaterThan(token);
      expect(await store.raise('k', 'o', token + 1000)).toBe(true);
      expect((await redis.inspect('k')).fencingToken).toBe(token + 1000);
      expect((await postgres.inspect('k')).fencingToken).toBe(token + 1000);
    });

    it('keeps a key that is released with time to keep, on both, so that it stays taken after the change back', async () => {
      const bench = await FailoverBench.start();
      const { store, runtime } = bench;
      await bench.to('BOTH');
      await store.acquire('k', 'o', TTL_MS);
      expect(await store.release('k', 'o', TTL_MS)).toBe(true);
      for (const next of ['POSTGRES', 'BOTH', 'REDIS'] as const) {
        expect(await store.acquire('k', 'p', TTL_MS)).toMatchObject({ acquired: false });
        await bench.to(next);
      }
      expect(await store.acquire('k', 'p', TTL_MS)).toMatchObject({ acquired: false });
      await runtime.advance(TTL_MS);
      await bench.lease.look();
      expect(await store.acquire('k', 'p', TTL_MS)).toMatchObject({ acquired: true });
    });

    it('takes a lock that only Postgres has on Redis with its next renewal, after which it is alone no more', async () => {
      const bench = await FailoverBench.start();
      const { store, redis, postgres, runtime } = bench;
      await bench.to('POSTGRES');
      await store.acquire('k', 'o', TTL_MS);
      expect([...postgres.alone]).toEqual(['k']);
      await bench.to('BOTH');
      redis.down = true;
      expect(await store.renew('k', 'o', TTL_MS)).toBe(true);
      expect([...postgres.alone]).toEqual(['k']);
      redis.down = false;
      expect(await store.renew('k', 'o', TTL_MS)).toBe(true);
      expect([...postgres.alone]).toEqual([]);
      await runtime.advance(TTL_MS * 0.9);
      expect(await store.renew('k', 'o', TTL_MS)).toBe(true);
      expect(await redis.inspect('k')).toMatchObject({ locked: true, remainingMs: TTL_MS });
      await bench.to('REDIS');
      expect(await store.acquire('k', 'p', TTL_MS)).toMatchObject({ acquired: false });
      expect(await store.renew('k', 'o', TTL_MS)).toBe(true);
      expect(await store.release('k', 'o')).toBe(true);
      expect([await redis.inspect('k'), await postgres.inspect('k')]).toEqual([{ locked: false }, { locked: false }]);
    });

    it('leaves nothing on Redis of a lock that is released while it is taken there', async () => {
      const bench = await FailoverBench.start();
      const { store, redis, postgres, runtime } = bench;
      await bench.to('POSTGRES');
      await store.acquire('k', 'o', TTL_MS);
      await bench.to('BOTH');
      let open!: () => void;
      redis.gate = new Promise((resolve) => (open = resolve));
      const renewed = store.renew('k', 'o', TTL_MS);
      expect(await store.release('k', 'o')).toBe(true);
      open();
      expect(await renewed).toBe(false);
      await runtime.advance(0);
      expect([await redis.inspect('k'), await postgres.inspect('k')]).toEqual([{ locked: false }, { locked: false }]);
    });

    it('carries over what it still has on both when Redis goes right after the change back', async () => {
      const bench = await FailoverBench.start();
      await bench.to('BOTH');
      await bench.store.acquire('k', 'o', TTL_MS);
      await bench.to('REDIS');
      await bench.to('DRAINING');
      bench.redis.down = true;
      await bench.runtime.advance(outlasting(LEASE_MS));
      expect(await bench.store.renew('k', 'o', TTL_MS)).toBe(true);
      expect([...bench.postgres.alone]).toEqual(['k']);
    });

    it('does not renew what either has no longer', async () => {
      for (const from of ['redis', 'postgres'] as const) {
        const bench = await FailoverBench.start();
        await bench.to('BOTH');
        await bench.store.acquire('k', 'o', TTL_MS);
        const { owner } = await bench[from].inspect('k');
        await bench[from].release('k', owner!);
        expect(await bench.store.renew('k', 'o', TTL_MS)).toBe(false);
      }
    });

    it('leaves the lock to Postgres alone when Redis goes again', async () => {
      const bench = await FailoverBench.start();
      await bench.to('BOTH');
      await bench.store.acquire('k', 'o', TTL_MS);
      bench.redis.down = true;
      await bench.to('POSTGRES');
      expect(await bench.store.renew('k', 'o', TTL_MS)).toBe(true);
      expect([...bench.postgres.alone]).toEqual(['k']);
    });
  });

  it.each(['POSTGRES', 'BOTH'] as const)(
    'tells the holder at once when the connection breaks that holds it: %s',
    async (state) => {
      const bench = await FailoverBench.start();
      await bench.to(state);
      const lock = await new LockManager(bench.store, {}, bench.runtime).acquire('k');
      bench.postgres.breakConnection();
      expect(lock.signal.aborted).toBe(true);
      expect(lock.signal.reason).toMatchObject({ reason: 'disconnected' });
    },
  );

  it('follows a change of state that it has not seen yet', async () => {
    const bench = await FailoverBench.start();
    await bench.to('POSTGRES');
    bench.postgres.to('BOTH');
    expect((await bench.store.acquire('k', 'o', TTL_MS)).acquired).toBe(true);
    expect((await bench.redis.inspect('k')).locked).toBe(true);
  });

  it('gives up, as unavailable, when the state changes again and again', async () => {
    const bench = await FailoverBench.start();
    await bench.to('POSTGRES');
    bench.postgres.acquireUnder = async () => undefined;
    expect(await unavailable(bench.store.acquire('k', 'o', TTL_MS))).toMatch(/moving/);
  });

  it.each([
    ['REDIS', 'redis'],
    ['DRAINING', 'redis'],
    ['DRAINING', 'postgres'],
    ['POSTGRES', 'postgres'],
    ['BOTH', 'postgres'],
  ] as const)('looks where the answer is: %s, held on %s', async (state, where) => {
    const bench = await FailoverBench.start();
    await bench.to(state);
    await bench[where].acquire('k', 'holder', TTL_MS);
    expect(await bench.store.inspect('k')).toMatchObject({ locked: true, owner: 'holder' });
    expect(await bench.store.inspect('free')).toEqual({ locked: false });
  });

  it('wakes waiters whichever store frees the key', async () => {
    const { store, redis, postgres } = await FailoverBench.start();
    let woken = 0;
    const stop = store.onFree('k', () => woken++);
    for (const inner of [redis, postgres]) {
      await inner.acquire('k', 'o', TTL_MS);
      await inner.release('k', 'o');
    }
    expect(woken).toBe(2);
    stop();
    await redis.acquire('k', 'o', TTL_MS);
    await redis.release('k', 'o');
    expect(woken).toBe(2);
  });

  it('knows nothing of what it never granted', async () => {
    const { store } = await FailoverBench.start();
    expect(await store.renew('k', 'o', TTL_MS)).toBe(false);
    expect(await store.release('k', 'o')).toBe(false);
    expect(await store.raise('k', 'o', 1)).toBe(false);
    const lost = jest.fn();
    store.onLoss('k', 'o', lost);
    expect(lost).toHaveBeenCalledTimes(1);
  });

  describe('checked', () => {
    const well: StoreHealth = { status: 'up', nodes: [{ node: 'r', state: 'up' }] };
    const gone: StoreHealth = { status: 'down', nodes: [{ node: 'r', state: 'down', reason: 'refused' }] };

    it.each<[AuthorityState, StoreHealth, StoreHealth, string]>([
      ['REDIS', well, well, 'up'],
      ['REDIS', { ...well, status: 'degraded' }, well, 'degraded'],
      ['REDIS', well, gone, 'degraded'],
      ['REDIS', gone, well, 'down'],
      ['DRAINING', gone, well, 'degraded'],
      ['POSTGRES', gone, well, 'degraded'],
      ['POSTGRES', well, well, 'degraded'],
      ['POSTGRES', well, gone, 'down'],
      ['BOTH', well, well, 'degraded'],
    ])('in %s, by what decides then', async (state, ofRedis, ofPostgres, status) => {
      const bench = await FailoverBench.start();
      if (state !== 'REDIS') await bench.to(state);
      Object.assign(bench.redis, { check: () => Promise.resolve(ofRedis) });
      Object.assign(bench.postgres, { check: () => Promise.resolve(ofPostgres) });
      const nodes = [...ofRedis.nodes, ...ofPostgres.nodes];
      expect(await bench.store.check()).toEqual({ status, nodes, authority: state });
    });

    it('is down in REDIS once the lease on it is over, and when nobody knows who decides', async () => {
      const bench = await FailoverBench.start();
      Object.assign(bench.redis, { check: () => Promise.resolve(well) });
      Object.assign(bench.postgres, { check: () => Promise.resolve(gone) });
      bench.postgres.trouble = 'cut';
      await bench.runtime.advance(LEASE_MS);
      expect(await bench.store.check()).toMatchObject({ status: 'down', authority: 'REDIS' });
      bench.lease.authority = undefined;
      expect(await bench.store.check()).toEqual({ status: 'down', nodes: [...well.nodes, ...gone.nodes] });
    });
  });
});
