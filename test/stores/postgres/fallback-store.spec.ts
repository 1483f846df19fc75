import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { Authority, PodReport } from '../../../lib/stores/failover/authority.js';
import { connectPostgres, type PostgresStore } from '../../../lib/stores/postgres/index.js';
import { eventually } from '../../support/eventually.js';
import { PostgresServer } from '../../support/postgres-server.js';

const TTL_MS = 60_000;
const HEADROOM = 60_000_000;
const SERVER_CLOCK = '(extract(epoch from clock_timestamp()) * 1000000)::bigint';

function report(changes: Partial<PodReport> = {}): PodReport {
  return { pod: 'a', leaseMs: 6000, ttlMs: 30_000, tokenSeen: 0, redis: 'unsure', countsForMs: TTL_MS, ...changes };
}

describe('PostgresStore as a fallback', () => {
  let server: PostgresServer | undefined;
  let admin: pg.Client;
  const stores: PostgresStore[] = [];
  let a: PostgresStore;
  let b: PostgresStore;

  beforeAll(async () => {
    server = await PostgresServer.start();
    admin = await client();
    await open(); // makes the tables
  }, 60_000);

  afterAll(async () => {
    await admin?.end();
    await server?.stop();
  });

  beforeEach(async () => {
    await admin.query('truncate distributed_lock_authority, distributed_lock_pod, distributed_lock_fence');
    [a, b] = [await open(), await open()];
  });

  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await eventually(async () => expect(await advisoryLocks()).toBe(0));
  });

  async function client(): Promise<pg.Client> {
    const one = new pg.Client(server!.url);
    await one.connect();
    return one;
  }

  async function open(): Promise<PostgresStore> {
    const store = await connectPostgres({ connection: server!.url, timeout: '20s', sessionTimeout: '60s' });
    stores.push(store);
    return store;
  }

  async function advisoryLocks(): Promise<number> {
    const { rows } = await admin.query(`select count(*)::int as locks from pg_locks where locktype = 'advisory'`);
    return rows[0].locks;
  }

  async function setRow(changes: Record<string, string | number>): Promise<void> {
    for (const [name, value] of Object.entries(changes)) {
      await admin.query(`update distributed_lock_authority set ${name} = $1`, [value]);
    }
  }

  async function to(...states: Authority['state'][]): Promise<Authority> {
    let authority = await a.consult(report());
    for (const state of states) authority = await a.move(authority.epoch, state, `to ${state}`);
    expect(authority.state).toBe(states.at(-1));
    return authority;
  }

  /** Another session that has read the authority row, or changes it, and is not done yet. */
  async function meanwhile(sql: string): Promise<{ end(): Promise<void> }> {
    const other = await client();
    await other.query('begin');
    await other.query(sql);
    return {
      async end() {
        await other.query('commit');
        await other.end();
      },
    };
  }

  /** How many statements wait for a lock on the row. */
  async function waitingStatements(): Promise<number> {
    const { rows } = await admin.query(
      `select count(*)::int as waiting from pg_stat_activity where wait_event_type = 'Lock'`,
    );
    return rows[0].waiting;
  }

  describe('consult', () => {
    it('makes the row in REDIS, epoch 1, also when many ask at once', async () => {
      const others = await Promise.all(Array.from({ length: 8 }, open));
      const seen = await Promise.all(others.map((store, index) => store.consult(report({ pod: `pod ${index}` }))));
      expect(seen.map(({ state, epoch }) => ({ state, epoch }))).toEqual(Array(8).fill({ state: 'REDIS', epoch: 1 }));
    });

    it('lifts lease and ttl to the longest announced, and never lowers them', async () => {
      await a.consult(report({ leaseMs: 6000, ttlMs: 30_000 }));
      expect(await b.consult(report({ pod: 'b', leaseMs: 9000, ttlMs: 10_000 }))).toMatchObject({
        leaseMs: 9000,
        ttlMs: 30_000,
      });
      expect(await a.consult(report({ leaseMs: 1000, ttlMs: 90_000 }))).toMatchObject({ leaseMs: 9000, ttlMs: 90_000 });
    });

    it('keeps the ceiling above the clock, the tokens seen, the floor and the lead', async () => {
      const { rows } = await admin.query(`select ${SERVER_CLOCK} as clock`);
      const clock = Number(rows[0].clock);
      expect((await a.consult(report())).tokenCeiling).toBeGreaterThanOrEqual(clock + HEADROOM);
      const seen = clock + 10 * HEADROOM;
      expect((await a.consult(report({ tokenSeen: seen }))).tokenCeiling).toBe(seen + HEADROOM);
      await setRow({ token_floor: seen + 5 * HEADROOM });
      expect((await a.consult(report())).tokenCeiling).toBe(seen + 6 * HEADROOM);
      await setRow({ token_lead: 100 * HEADROOM });
      expect((await a.consult(report())).tokenCeiling).toBeGreaterThanOrEqual(clock + 101 * HEADROOM);
    });

    it('writes the row only where something has to change', async () => {
      await a.consult(report());
      const version = async () => (await admin.query('select xmin, xmax, ctid from distributed_lock_authority')).rows;
      const before = await version();
      await a.consult(report());
      await b.consult(report({ pod: 'b' }));
      expect(await version()).toEqual(before);
    });

    it.each(['DRAINING', 'POSTGRES', 'BOTH'] as const)('leaves the ceiling alone in %s', async (state) => {
      const { tokenCeiling } = await a.consult(report());
      await setRow({ state });
      expect((await a.consult(report({ tokenSeen: tokenCeiling * 2, ttlMs: 90_000 }))).tokenCeiling).toBe(tokenCeiling);
    });

    it('counts the processes whose report still counts, by what they say', async () => {
      await a.consult(report({ pod: 'a', redis: 'down' }));
      await b.consult(report({ pod: 'b', redis: 'up' }));
      await b.consult(report({ pod: 'c', redis: 'down', countsForMs: 1 }));
      await eventually(async () => {
        const { pods } = await a.consult(report({ pod: 'a', redis: 'down' }));
        expect(pods).toEqual({ all: 2, down: 1, up: 1 });
      });
      expect((await a.consult(report({ pod: 'a', redis: 'up' }))).pods).toEqual({ all: 2, down: 0, up: 2 });
    });

    it('forgets processes that have long gone', async () => {
      await b.consult(report({ pod: 'gone' }));
      await admin.query(`update distributed_lock_pod set counts_until = clock_timestamp() - interval '2 hours'`);
      await a.consult(report());
      const { rows } = await admin.query('select pod from distributed_lock_pod');
      expect(rows).toEqual([{ pod: 'a' }]);
    });
  });

  describe('move', () => {
    it('changes the state once per epoch, and says what the row is either way', async () => {
      const { epoch } = await a.consult(report());
      const answers = await Promise.all([
        a.move(epoch, 'DRAINING', "it's gone; \\ \u0000"),
        b.move(epoch, 'DRAINING', 'second'),
      ]);
      expect(answers.map((answer) => answer.epoch)).toEqual([epoch + 1, epoch + 1]);
      expect(["it's gone; \\ ", 'second']).toContain(answers[0].reason);
      expect(answers[1].reason).toBe(answers[0].reason);
      expect((await b.move(epoch, 'POSTGRES', 'late')).state).toBe('DRAINING');
    });

    it('puts the floor at the highest token ever given out or set aside, and the lead at what that is above the clock', async () => {
      const { epoch, tokenCeiling } = await to('DRAINING', 'POSTGRES', 'BOTH');
      const granted = await b.acquireUnder('BOTH', 'k', 'o', TTL_MS);
      const { fencingToken } = granted as { fencingToken: number };
      expect(fencingToken).toBeGreaterThan(tokenCeiling);
      const far = fencingToken + 5 * HEADROOM;
      expect(await b.raise('k', 'o', far)).toBe(true);
      const back = await a.move(epoch, 'REDIS', 'well again');
      expect(back).toMatchObject({ state: 'REDIS', tokenFloor: far });
      expect(back.tokenLead).toBeGreaterThan(0);
      expect(back.tokenLead).toBeLessThanOrEqual(6 * HEADROOM);
    });

    it('sees a token that was given out while it waited for the row', async () => {
      const { epoch } = await to('DRAINING', 'POSTGRES', 'BOTH');
      const far = 2 ** 52;
      const grant = await meanwhile(`
        select from distributed_lock_authority for share;
        insert into distributed_lock_fence (id, key, token) values (1, 'k', ${far})`);
      const moved = a.move(epoch, 'REDIS', 'well again');
      await eventually(async () => expect(await waitingStatements()).toBe(1));
      await grant.end();
      expect((await moved).tokenFloor).toBe(far);
    });

    it.each(['own', "another's"])('does not go to REDIS while a lock is alone on %s session', async (whose) => {
      const store = whose === 'own' ? a : b;
      const { epoch } = await to('DRAINING', 'POSTGRES');
      expect(await store.acquireUnder('POSTGRES', 'k', 'o', TTL_MS)).toMatchObject({ acquired: true });
      const both = await a.move(epoch, 'BOTH', 'Redis is back');
      expect(both.state).toBe('BOTH');
      expect((await a.move(both.epoch, 'REDIS', 'now')).state).toBe('BOTH');
      expect(await store.renewAlone('k', 'o', TTL_MS, false)).toBe(true);
      expect((await a.move(both.epoch, 'REDIS', 'now')).state).toBe('REDIS');
    });

    it('does not go from BOTH to REDIS while a released key is kept', async () => {
      const { epoch } = await to('DRAINING', 'POSTGRES');
      await b.acquireUnder('POSTGRES', 'k', 'o', TTL_MS);
      await b.release('k', 'o', TTL_MS);
      await b.inspect('k'); // by then its session no longer shows the lock as alone, which nobody waits for
      await a.move(epoch, 'BOTH', 'Redis is back');
      expect((await a.move(epoch + 1, 'REDIS', 'now')).state).toBe('BOTH');
      await admin.query('update distributed_lock_fence set kept_until = clock_timestamp()');
      expect((await a.move(epoch + 1, 'REDIS', 'now')).state).toBe('REDIS');
    });

    it('waits for what is tied to the row', async () => {
      const { epoch } = await a.consult(report());
      const tied = await meanwhile('select from distributed_lock_authority for share');
      let moved = false;
      const moving = a.move(epoch, 'DRAINING', 'gone').finally(() => (moved = true));
      await eventually(async () => expect(await waitingStatements()).toBe(1));
      expect(moved).toBe(false);
      await tied.end();
      expect((await moving).state).toBe('DRAINING');
    });
  });

  describe('acquireUnder', () => {
    it.each(['POSTGRES', 'BOTH'] as const)('grants in %s, above the ceiling, and in no other state', async (state) => {
      const { tokenCeiling } = await a.consult(report());
      for (const other of ['REDIS', 'DRAINING', 'POSTGRES', 'BOTH']) {
        await setRow({ state: other });
        const answer = await a.acquireUnder(state, 'k', 'o', TTL_MS);
        if (other !== state) expect(answer).toBeUndefined();
        else expect((answer as { fencingToken: number }).fencingToken).toBeGreaterThan(tokenCeiling);
        expect(await advisoryLocks()).toBe(other !== state ? 0 : state === 'POSTGRES' ? 2 : 1);
        if (answer?.acquired) await a.release('k', 'o');
      }
    });

    it('refuses a key that is held, here or elsewhere, or kept', async () => {
      await to('DRAINING', 'POSTGRES');
      const first = await a.acquireUnder('POSTGRES', 'k', 'o', TTL_MS);
      expect(await a.acquireUnder('POSTGRES', 'k', 'p', TTL_MS)).toMatchObject({ acquired: false });
      expect(await b.acquireUnder('POSTGRES', 'k', 'p', TTL_MS)).toEqual({ acquired: false });
      await a.release('k', 'o', TTL_MS);
      const kept = await b.acquireUnder('POSTGRES', 'k', 'p', TTL_MS);
      expect(kept).toMatchObject({ acquired: false, retryAfterMs: expect.any(Number) });
      expect(await advisoryLocks()).toBe(0);
      await admin.query('update distributed_lock_fence set kept_until = clock_timestamp()');
      const next = await b.acquireUnder('POSTGRES', 'k', 'p', TTL_MS);
      expect((next as { fencingToken: number }).fencingToken).toBeGreaterThan(
        (first as { fencingToken: number }).fencingToken,
      );
    });

    it('sees a change of state that was under way when it was asked', async () => {
      await to('DRAINING', 'POSTGRES');
      const change = await meanwhile(`update distributed_lock_authority set state = 'BOTH', epoch = epoch + 1`);
      const asked = a.acquireUnder('POSTGRES', 'k', 'o', TTL_MS);
      await eventually(async () => expect(await waitingStatements()).toBe(1));
      await change.end();
      expect(await asked).toBeUndefined();
      expect(await advisoryLocks()).toBe(0);
    });

    it('is refused, with nothing left behind, while a change to REDIS looks for what is alone', async () => {
      await to('DRAINING', 'POSTGRES');
      expect(await a.acquireUnder('POSTGRES', 'other', 'o', TTL_MS)).toMatchObject({ acquired: true });
      await a.release('other', 'o');
      const { ALONE } = await import('../../../lib/stores/postgres/lock-id.js');
      const looking = await meanwhile(`select pg_advisory_xact_lock(${ALONE})`);
      expect(await a.acquireUnder('POSTGRES', 'k', 'o', TTL_MS)).toBeUndefined();
      expect(await advisoryLocks()).toBe(1);
      await looking.end();
      expect(await a.acquireUnder('POSTGRES', 'k', 'o', TTL_MS)).toMatchObject({ acquired: true });
    });

    it('stops counting as alone when it is released, swept, or lost', async () => {
      await to('DRAINING', 'POSTGRES');
      await a.acquireUnder('POSTGRES', 'released', 'o', TTL_MS);
      await a.acquireUnder('POSTGRES', 'kept', 'o', TTL_MS);
      await a.acquireUnder('POSTGRES', 'swept', 'o', 300);
      await a.release('released', 'o');
      await a.release('kept', 'o', 1);
      await eventually(async () => expect(await advisoryLocks()).toBe(0));
      await a.acquireUnder('POSTGRES', 'lost', 'o', TTL_MS);
      await admin.query(`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'`);
      await eventually(async () => expect(await advisoryLocks()).toBe(0));
    });
  });

  describe('carry', () => {
    it('takes the key alone, with the token it had, so that the next is above it', async () => {
      const { epoch } = await to('DRAINING');
      const far = 2 ** 51;
      expect(await a.carry(epoch, 'k', 'o', TTL_MS, far)).toBe(true);
      expect(await b.carry(epoch, 'k', 'p', TTL_MS, far)).toBe(false);
      expect(await a.carry(epoch, 'k', 'p', TTL_MS, far)).toBe(false);
      expect((await a.move(epoch, 'REDIS', 'back')).state).toBe('DRAINING');
      await a.move(epoch, 'POSTGRES', 'drained');
      expect(await b.acquireUnder('POSTGRES', 'k', 'p', TTL_MS)).toEqual({ acquired: false });
      expect(await a.renew('k', 'o', TTL_MS)).toBe(true);
      await a.release('k', 'o');
      const next = await b.acquireUnder('POSTGRES', 'k', 'p', TTL_MS);
      expect((next as { fencingToken: number }).fencingToken).toBeGreaterThan(far);
    });

    it('is tied to its epoch of DRAINING', async () => {
      const { epoch } = await to('DRAINING');
      expect(await a.carry(epoch - 1, 'k', 'o', TTL_MS, 1)).toBeUndefined();
      await setRow({ state: 'POSTGRES' });
      expect(await a.carry(epoch, 'k', 'o', TTL_MS, 1)).toBeUndefined();
      expect(await advisoryLocks()).toBe(0);
    });

    it('makes alone what its owner has here already, once', async () => {
      const { epoch } = await to('DRAINING', 'POSTGRES', 'BOTH');
      await a.acquireUnder('BOTH', 'k', 'o', TTL_MS);
      await setRow({ state: 'DRAINING' });
      expect(await a.carry(epoch, 'k', 'o', TTL_MS, 1)).toBe(true);
      expect(await a.carry(epoch, 'k', 'o', TTL_MS, 1)).toBe(true);
      expect((await b.move(epoch, 'REDIS', 'back')).state).toBe('DRAINING');
      expect(await a.release('k', 'o')).toBe(true);
      expect((await b.move(epoch, 'REDIS', 'back')).state).toBe('REDIS');
    });
  });

  describe('renewAlone', () => {
    it('makes alone, in POSTGRES only, and takes it back', async () => {
      await to('DRAINING', 'POSTGRES', 'BOTH');
      await a.acquireUnder('BOTH', 'k', 'o', TTL_MS);
      expect(await a.renewAlone('k', 'o', TTL_MS, true)).toBeUndefined();
      expect(await advisoryLocks()).toBe(1);
      await setRow({ state: 'POSTGRES' });
      expect(await Promise.all([1, 2, 3].map(() => a.renewAlone('k', 'o', TTL_MS, true)))).toEqual([true, true, true]);
      expect(await advisoryLocks()).toBe(2);
      expect(await a.renewAlone('k', 'o', TTL_MS, false)).toBe(true);
      expect(await a.renewAlone('k', 'o', TTL_MS, false)).toBe(true);
      expect(await advisoryLocks()).toBe(1);
      expect(await a.renewAlone('k', 'p', TTL_MS, true)).toBe(false);
    });

    it('leaves no mark when the lock is released in the meantime', async () => {
      await to('DRAINING', 'POSTGRES', 'BOTH');
      await a.acquireUnder('BOTH', 'k', 'o', TTL_MS);
      await setRow({ state: 'POSTGRES' });
      const renewed = a.renewAlone('k', 'o', TTL_MS, true);
      expect(await a.release('k', 'o')).toBe(true);
      expect(await renewed).toBe(false);
      await eventually(async () => expect(await advisoryLocks()).toBe(0));
    });

    it("leaves other locks' marks when one of them ends", async () => {
      const { epoch } = await to('DRAINING', 'POSTGRES');
      await a.acquireUnder('POSTGRES', 'k', 'o', TTL_MS);
      await a.acquireUnder('POSTGRES', 'l', 'o', TTL_MS);
      const shared = a.renewAlone('k', 'o', TTL_MS, false);
      await a.release('k', 'o');
      await shared;
      await a.move(epoch, 'BOTH', 'back');
      expect((await b.move(epoch + 1, 'REDIS', 'back')).state).toBe('BOTH');
    });
  });
});
