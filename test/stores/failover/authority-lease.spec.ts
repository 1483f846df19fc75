import { describe, expect, it } from '@jest/globals';
import { validity, outlasting } from '../../../lib/deadline.js';
import type { AuthorityChange } from '../../../lib/stores/failover/failover.options.js';
import { FailoverBench, LEASE_MS, TTL_MS } from './stand-ins.js';

const LOOK_MS = LEASE_MS / 3;

describe('AuthorityLease', () => {
  it('looks three times per lease, and no more once it is stopped', async () => {
    const { lease, postgres, runtime } = await FailoverBench.start();
    await runtime.advance(LEASE_MS * 10);
    expect(postgres.reports).toHaveLength(1 + 30);
    lease.stop();
    await runtime.advance(LEASE_MS);
    expect(postgres.reports).toHaveLength(31);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('sets no further timer when it is stopped during its first look', async () => {
    const { lease, runtime } = new FailoverBench();
    const started = lease.start();
    lease.stop();
    await started;
    expect(runtime.pendingTimers).toBe(0);
  });

  it('lets Redis be asked for as long as the last look counts, from before it was sent', async () => {
    const { lease, postgres, runtime } = await FailoverBench.start();
    postgres.trouble = 'cut';
    await runtime.advance(validity(LEASE_MS) - 1);
    expect([lease.mayRenew, lease.mayGrant(TTL_MS)]).toEqual([true, true]);
    await runtime.advance(1);
    expect([lease.mayRenew, lease.mayGrant(TTL_MS)]).toEqual([false, false]);
    postgres.trouble = undefined;
    await runtime.advance(LOOK_MS);
    expect(lease.mayGrant(TTL_MS)).toBe(true);
  });

  it('does not let a lock be granted that is longer than the row knows, before it has announced it', async () => {
    const { lease, postgres } = await FailoverBench.start();
    expect(lease.mayGrant(TTL_MS + 1)).toBe(false);
    lease.announce(TTL_MS + 0.5);
    await lease.look();
    expect(postgres.row.ttlMs).toBe(TTL_MS + 1);
    expect(lease.mayGrant(TTL_MS + 1)).toBe(true);
  });

  it('lets renewals go on under the old lease in DRAINING, but nothing be granted', async () => {
    const bench = await FailoverBench.start();
    await bench.to('DRAINING');
    expect([bench.lease.mayRenew, bench.lease.mayGrant(0)]).toEqual([true, false]);
    await bench.runtime.advance(LEASE_MS);
    expect(bench.lease.mayRenew).toBe(false);
  });

  it('knows Redis to be closed once one lease, stretched, has passed since it saw DRAINING', async () => {
    const bench = await FailoverBench.start();
    await bench.to('DRAINING');
    await bench.runtime.advance(outlasting(LEASE_MS) - 1);
    expect(bench.lease.redisIsClosed).toBe(false);
    // A wall clock that is set forward ends no wait.
    bench.runtime.skewWall(60_000);
    expect(bench.lease.redisIsClosed).toBe(false);
    await bench.runtime.advance(1);
    expect(bench.lease.redisIsClosed).toBe(true);
  });

  it('moves on from DRAINING only after lease and longest ttl, stretched', async () => {
    const bench = await FailoverBench.start();
    await bench.to('DRAINING');
    await bench.runtime.advance(outlasting(LEASE_MS + TTL_MS) - 1);
    await bench.lease.look();
    expect(bench.postgres.moves).toEqual([]);
    await bench.runtime.advance(1);
    await bench.lease.look();
    expect(bench.postgres.moves).toEqual(['POSTGRES']);
    expect(bench.lease.authority?.state).toBe('POSTGRES');
  });

  it('counts the wait anew in each DRAINING', async () => {
    const bench = await FailoverBench.start();
    await bench.to('DRAINING');
    await bench.runtime.advance(outlasting(LEASE_MS));
    await bench.to('REDIS');
    await bench.to('DRAINING');
    expect(bench.lease.redisIsClosed).toBe(false);
  });

  it.each([
    ['in the same epoch, below the ceiling', 1, 99, true],
    ['in another epoch', 2, 99, false],
    ['above the ceiling', 1, 101, false],
  ])('confirms a grant of Redis: %s', async (_, epoch, token, confirmed) => {
    const bench = await FailoverBench.start();
    bench.postgres.row = { ...bench.postgres.row, tokenCeiling: 100 };
    await bench.lease.look();
    expect(bench.lease.confirms(epoch, token)).toBe(confirmed);
  });

  it('confirms nothing once the lease is over', async () => {
    const { lease, runtime } = await FailoverBench.start();
    runtime.pause(LEASE_MS);
    expect(lease.confirms(1, 1)).toBe(false);
  });

  it('reports its clock, the highest token and the longest ttl that it knows of, and what it sees of Redis', async () => {
    const { lease, postgres, redis, runtime } = await FailoverBench.start();
    expect(postgres.reports[0]).toMatchObject({ pod: 'pod', leaseMs: LEASE_MS, ttlMs: TTL_MS, redis: 'unsure' });
    expect(postgres.reports[0]!.tokenSeen).toBe(runtime.clock.wall() * 1000);
    const far = 2 ** 52;
    lease.announce(2 * TTL_MS, far);
    redis.down = true;
    await runtime.advance(LEASE_MS * 2);
    expect(postgres.reports.at(-1)).toMatchObject({ ttlMs: 2 * TTL_MS, tokenSeen: far, redis: 'down' });
  });

  it('gives calls that come during a look one later look together', async () => {
    const { lease, postgres } = await FailoverBench.start();
    const under = lease.look();
    const looks = await Promise.all([lease.look(), lease.look(), under]);
    expect(postgres.reports).toHaveLength(1 + 2);
    expect(looks[0]).toBe(looks[1]);
  });

  describe('tells of a change', () => {
    const started = async (): Promise<FailoverBench & { changes: AuthorityChange[] }> => {
      const changes: AuthorityChange[] = [];
      const bench = await FailoverBench.start({ onAuthorityChange: (change) => changes.push(change) });
      return Object.assign(bench, { changes });
    };

    it('by an event and a line in the log, with the reason', async () => {
      const bench = await started();
      bench.postgres.to('DRAINING', '2 of 3 processes have lost Redis');
      await bench.lease.look();
      await bench.lease.look();
      expect(bench.changes).toEqual([
        { from: undefined, to: 'REDIS', epoch: 1, reason: 'nothing has happened yet' },
        { from: 'REDIS', to: 'DRAINING', epoch: 2, reason: '2 of 3 processes have lost Redis' },
      ]);
      expect(bench.log).toEqual(['Locks are now decided by DRAINING (epoch 2): 2 of 3 processes have lost Redis']);
    });

    it('to each who observes it, and at once of how things are', async () => {
      const bench = await started();
      const seen: string[] = [];
      const stop = bench.lease.observe(({ from, to, epoch }) => seen.push(`${from} to ${to} (${epoch})`));
      await bench.to('DRAINING');
      stop();
      await bench.to('REDIS');
      expect(seen).toEqual(['undefined to REDIS (1)', 'REDIS to DRAINING (2)']);
    });

    it('that it makes itself, with what it saw of Redis', async () => {
      const bench = await started();
      bench.redis.down = true;
      bench.postgres.row = { ...bench.postgres.row, pods: { all: 3, down: 2, up: 0 } };
      await bench.runtime.advance(LOOK_MS * 2);
      const reason = '2 of 3 processes have lost Redis; here: Redis is down';
      expect(bench.changes[1]).toEqual({ from: 'REDIS', to: 'DRAINING', epoch: 2, reason });
      expect(bench.log).toContain(`Locks are now decided by DRAINING (epoch 2): ${reason}`);
    });

    it('at the start, too, if Redis does not decide then', async () => {
      const bench = new FailoverBench();
      bench.postgres.to('POSTGRES');
      await bench.lease.start();
      expect(bench.log).toEqual(['Locks are now decided by POSTGRES (epoch 2): to POSTGRES']);
    });

    it('to a listener that throws without taking that for an outage', async () => {
      const bench = await FailoverBench.start({
        onAuthorityChange: ({ epoch }) => {
          if (epoch > 1) throw new Error('no pager');
        },
      });
      await bench.to('DRAINING');
      await bench.to('REDIS');
      expect(bench.lease.mayGrant(TTL_MS)).toBe(true);
      expect(bench.log.filter((line) => line.includes('onAuthorityChange threw: no pager'))).toHaveLength(2);
      expect(bench.log.join()).not.toContain('out of reach');
    });
  });

  describe('when the row is out of reach', () => {
    it('says once what that means, and when it is over: strict', async () => {
      const { postgres, log, runtime } = await FailoverBench.start();
      postgres.trouble = 'no answer';
      await runtime.advance(LEASE_MS * 3);
      expect(log).toEqual([
        'The authority row is out of reach, so locks on Redis stop when the lease on it is over: no answer',
      ]);
      postgres.trouble = undefined;
      await runtime.advance(LOOK_MS);
      expect(log.slice(1)).toEqual(['The authority row is within reach again']);
    });

    it('goes on with Redis, and says so: available', async () => {
      const { postgres, lease, log, runtime } = await FailoverBench.start({ policy: 'available' });
      postgres.trouble = 'no answer';
      await runtime.advance(LEASE_MS * 3);
      expect([lease.unchecked, lease.mayRenew, lease.mayGrant(TTL_MS), lease.confirms(1, 1)]).toEqual(
        Array(4).fill(true),
      );
      expect(log).toEqual([
        'The authority row is out of reach, so locks on Redis go on unchecked, and two holders can meet if others switch: no answer',
      ]);
      postgres.trouble = undefined;
      await runtime.advance(LOOK_MS);
      expect([lease.unchecked, lease.mayRenew]).toEqual([false, true]);
    });

    it.each(['DRAINING', 'POSTGRES', 'BOTH'] as const)(
      'does not go on with Redis from %s: available',
      async (state) => {
        const bench = await FailoverBench.start({ policy: 'available' });
        await bench.to(state);
        bench.postgres.trouble = 'no answer';
        await bench.runtime.advance(LEASE_MS * 3);
        expect([bench.lease.unchecked, bench.lease.mayRenew]).toEqual([false, false]);
      },
    );
  });
});
