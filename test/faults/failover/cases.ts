import assert from 'node:assert/strict';
import { eventually } from '../../support/eventually.js';
import { POSTGRES, REDIS, type Fault } from './faults.js';
import { nowMs, type CaseTerms, type Look, type Outcome } from './messages.js';
import type { PodProcess } from './pod-process.js';
import type { Trial } from './trial.js';

export interface FaultCase {
  readonly name: string;
  readonly terms?: Partial<CaseTerms>;
  /** Where the third pod's are others. */
  readonly third?: Partial<CaseTerms>;
  /** Breaks something, sees what comes of it, and mends it. Recovery, and what must hold in every case, is seen to afterwards. */
  run(trial: Trial): Promise<void>;
}

/** By their text: what another process sent is, under Jest, of other classes. */
function same(seen: unknown, expected: unknown, message?: string): void {
  assert.equal(JSON.stringify(seen), JSON.stringify(expected), message && `${message}: ${JSON.stringify(seen)}`);
}

async function during(
  trial: Trial,
  fault: Fault,
  pods: readonly PodProcess[],
  seen: (since: number) => Promise<void>,
): Promise<void> {
  await fault.begin(trial, pods);
  trial.broken();
  await seen(trial.brokenAt);
  await fault.end(trial, pods);
  trial.healed();
}

/** No change of authority is seen by these pods meanwhile. */
function undisturbed(pods: readonly PodProcess[], since: number): void {
  for (const pod of pods) {
    const seen = pod.changes.filter(({ at }) => at > since).map(({ to }) => to);
    same(seen, [], `${pod.name} saw the authority change`);
  }
}

function redisGone(name: string, fault: Fault): FaultCase {
  return {
    name: `Redis ${name} for all pods`,
    run: (trial) => during(trial, fault, trial.pods, (since) => trial.served(trial.pods, since, 'POSTGRES')),
  };
}

/** It takes more than a stall of a busy machine to count as down. */
function redisGoneForOne(name: string, fault: Fault): FaultCase {
  return {
    name: `Redis ${name} for one pod`,
    terms: { failoverAfterMs: 2000 },
    run: async (trial) => {
      const [cutOff, ...others] = trial.pods as [PodProcess, ...PodProcess[]];
      await during(trial, fault, [cutOff], async (since) => {
        await trial.refused([cutOff], since);
        await eventually(async () => assert.equal(await trial.lab.podsWithoutRedis(), 1));
        // Time for all to act on what it reports.
        await trial.served(others, nowMs() + trial.terms.leaseMs, 'REDIS');
        same(cutOff.holdsSince(since), [], 'granted though cut off');
      });
      await trial.recovered();
      undisturbed(trial.pods, trial.brokenAt);
    },
  };
}

/** Locks on Redis stop in time: a lock asked for after the lease was over is refused, and none lasts longer than its ttl after that. */
function stopsInTime(trial: Trial, pods: readonly PodProcess[], until: number, leaseMs = trial.terms.leaseMs): void {
  const { ttlMs } = trial.terms;
  const leaseEnd = trial.brokenAt + leaseMs;
  for (const pod of pods) {
    const late = pod.holdsSince(leaseEnd).filter(({ grantedAt }) => grantedAt < until);
    same(late, [], `${pod.name} was granted locks without a lease on the row`);
    const long = pod.holds.filter((hold) => hold.grantedAt < until && hold.heldUntil > leaseEnd + ttlMs);
    same(long, [], `${pod.name} held locks for too long without a lease on the row`);
  }
}

function postgresGone(name: string, fault: Fault): FaultCase {
  return {
    name: `Postgres ${name} for all pods, strict`,
    run: async (trial) => {
      let endsAt = 0;
      await during(trial, fault, trial.pods, async (since) => {
        // Long enough for a lock that was held to end.
        await trial.refused(trial.pods, since + trial.terms.leaseMs + trial.terms.ttlMs);
        endsAt = nowMs();
      });
      await trial.recovered();
      stopsInTime(trial, trial.pods, endsAt);
    },
  };
}

function postgresGoneWhileAvailable(name: string, fault: Fault): FaultCase {
  return {
    name: `Postgres ${name} for all pods, available`,
    terms: { policy: 'available' },
    run: async (trial) => {
      await during(trial, fault, trial.pods, async (since) => {
        await trial.served(trial.pods, since + 2 * trial.terms.leaseMs, 'REDIS');
        await trial.each(trial.pods, 'warned', ({ log }) => log.some((line) => line.includes('go on unchecked')));
      });
      await trial.each(trial.pods, 'back', ({ log }) => log.some((line) => line.includes('within reach again')));
    },
  };
}

function postgresGoneForOne(name: string, fault: Fault): FaultCase {
  return {
    name: `Postgres ${name} for one pod`,
    run: async (trial) => {
      const [cutOff, ...others] = trial.pods as [PodProcess, ...PodProcess[]];
      let endsAt = 0;
      await during(trial, fault, [cutOff], async (since) => {
        const leaseEnd = since + trial.terms.leaseMs;
        await Promise.all([trial.refused([cutOff], leaseEnd), trial.served(others, leaseEnd, 'REDIS')]);
        endsAt = nowMs();
      });
      await trial.recovered();
      stopsInTime(trial, [cutOff], endsAt);
    },
  };
}

/** A pod that holds a lock on Redis sleeps through the switch, and longer than its sessions last. */
const frozenHolder: FaultCase = {
  name: 'Redis killed, and a holder frozen through the switch',
  run: async (trial) => {
    const [holder, ...others] = trial.pods as [PodProcess, ...PodProcess[]];
    const [key] = trial.shortKeys as [string];
    await holder.obey({ do: 'rest' });
    const token = await holder.obey<number>({ do: 'hold', key });
    await during(trial, REDIS.killed, trial.pods, async (since) => {
      holder.freeze();
      await trial.served(others, since, 'POSTGRES');
      await trial.each(others.slice(0, 1), 'working on the key', ({ holds }) =>
        holds.some((hold) => hold.key === key && hold.token > token && hold.outcome === 'written'),
      );
      await eventually(async () => assert.equal(await trial.lab.sessions(), others.length));
      // In its inbox when it wakes: nothing else has its turn before.
      holder.send({ do: 'look' });
      holder.send({ do: 'write' });
      holder.thaw();
      const look = await holder.done<Look>('look');
      same(look, { held: false, told: true, code: 'LOCK_LOST' });
      assert.equal(await holder.done<Outcome>('write'), 'stale');
      assert.equal(await holder.obey<boolean>({ do: 'release' }), false);
      holder.send({ do: 'work' });
      await trial.served([holder], since, 'POSTGRES');
    });
  },
};

/** One holder goes on while the authority goes all the way round. */
const longJob: FaultCase = {
  name: 'a long job through the loss and the return of Redis',
  // Room for a stall of the machine: a lock that was not carried over in time is lost, rightly.
  terms: { ttlMs: 5000, leaseMs: 500, silenceMs: 3000 },
  run: async (trial) => {
    const [holder] = trial.pods as [PodProcess];
    // All pods, the holder's own included, ask for it all the while.
    const [key] = trial.shortKeys as [string];
    const token = await holder.obey<number>({ do: 'hold', key });
    await during(trial, REDIS.killed, trial.pods, (since) => trial.served(trial.pods, since, 'POSTGRES'));
    await trial.recovered();
    const states = new Set(trial.pods.flatMap(({ changes }) => changes.map(({ to }) => to)));
    same([...states].sort(), ['BOTH', 'DRAINING', 'POSTGRES', 'REDIS']);
    same(await holder.obey<Look>({ do: 'look' }), { held: true, told: false, code: null });
    assert.equal(await holder.obey<Outcome>({ do: 'write' }), 'written');
    assert.equal(await holder.obey<boolean>({ do: 'release' }), true);
    await trial.each(trial.pods, 'next', ({ holds }) => holds.some((hold) => hold.key === key && hold.token > token));
  },
};

/** Of the third pod in the case below: it lasts for longer than what the others hold on Redis, and they look at the row more often. */
const LONG_LEASE_MS = 4000;

/** Two pods switch, and the third, which cannot know, still has Redis and a lease on the row; each of the two kinds holds a lock. */
const splitView: FaultCase = {
  name: 'Redis cut for two pods, Postgres for the third',
  terms: { leaseMs: 500 },
  third: { leaseMs: LONG_LEASE_MS },
  run: async (trial) => {
    const [a, b, c] = trial.pods as [PodProcess, PodProcess, PodProcess];
    const [first, second] = trial.shortKeys as [string, string];
    await Promise.all([a.obey({ do: 'hold', key: first }), c.obey({ do: 'hold', key: second })]);
    await REDIS.cut.begin(trial, [a, b]);
    let endsAt = 0;
    await during(trial, POSTGRES.cut, [c], async (since) => {
      await Promise.all([trial.served([a, b], since, 'POSTGRES'), trial.refused([c], since + LONG_LEASE_MS)]);
      endsAt = nowMs();
    });
    await REDIS.cut.end(trial, [a, b]);
    await trial.recovered();
    stopsInTime(trial, [c], endsAt, LONG_LEASE_MS);
    await Promise.all([a, c].map((pod) => pod.obey({ do: 'release' })));
  },
};

const postgresRestart: FaultCase = {
  name: 'Redis killed, and Postgres killed while it decides',
  run: (trial) =>
    during(trial, REDIS.killed, trial.pods, async (since) => {
      await trial.served(trial.pods, since, 'POSTGRES');
      await trial.lab.postgres.restart();
      await trial.served(trial.pods, nowMs(), 'POSTGRES');
    }),
};

export const CASES: readonly FaultCase[] = [
  redisGone('killed', REDIS.killed),
  redisGone('frozen', REDIS.frozen),
  redisGone('cut', REDIS.cut),
  redisGone('silent', REDIS.silent),
  redisGoneForOne('cut', REDIS.cut),
  redisGoneForOne('silent', REDIS.silent),
  postgresGone('cut', POSTGRES.cut),
  postgresGone('silent', POSTGRES.silent),
  postgresGoneWhileAvailable('cut', POSTGRES.cut),
  postgresGoneWhileAvailable('silent', POSTGRES.silent),
  postgresGoneForOne('cut', POSTGRES.cut),
  postgresGoneForOne('silent', POSTGRES.silent),
  splitView,
  postgresRestart,
  frozenHolder,
  longJob,
];
