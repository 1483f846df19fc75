import { setTimeout as sleep } from 'node:timers/promises';
import { on } from '../../lab.js';
import { course, onAny, onNodes, type Fault } from '../fault.js';
import { nowMs } from '../messages.js';
import type { Trial } from '../trial.js';

const HOUR_MS = 3_600_000;
const LASTS_MS = 3000;
const RACE_MS = 8000;
const RACING_KEYS = 12;

async function repeatedly(times: number, work: () => unknown): Promise<void> {
  for (let left = times; left > 0; left--) {
    await work();
    await sleep(LASTS_MS / times);
  }
}

/** What must not cost anybody a lock. */
export const HARMLESS_FAULTS: readonly Fault[] = [
  {
    id: 'clocks-apart',
    title: "one worker's clock is an hour ahead, another's an hour behind",
    about: 'wall clocks, from the start; all four contend as ever',
    fits: onAny,
    limits: () => ['no losses'],
    run: async (trial) => {
      await trial.begin([HOUR_MS, -HOUR_MS]);
      await trial.quiet();
      trial.broken();
      await sleep(LASTS_MS);
      trial.healed();
      await trial.end();
    },
  },
  {
    id: 'clock-back',
    title: "the holder's clock jumps an hour back",
    about: `and it holds on for ${LASTS_MS / 1000} s`,
    fits: onAny,
    limits: () => ['no losses'],
    run: (trial) => course(trial, { begin: () => trial.victim.send({ do: 'clock', ms: -HOUR_MS }), lastsMs: LASTS_MS }),
  },
  {
    id: 'clock-ahead',
    title: "the holder's clock jumps an hour ahead",
    about: 'no process can tell this from a machine that was suspended for an hour',
    fits: onAny,
    limits: () => ['overlap'],
    run: (trial) => course(trial, { begin: () => trial.victim.send({ do: 'clock', ms: HOUR_MS }), lastsMs: LASTS_MS }),
  },
  {
    id: 'script-flush',
    title: 'SCRIPT FLUSH on all nodes',
    about: 'every 0.3 s, while a lock is held',
    fits: onNodes,
    limits: () => ['no losses'],
    run: (trial) =>
      course(trial, {
        begin: () =>
          repeatedly(10, () =>
            Promise.all(trial.servers.map((server) => on(server, (redis) => redis.script('FLUSH')))),
          ),
      }),
  },
  {
    id: 'resets',
    title: 'all connections are reset',
    about: 'four times in three seconds, while a lock is held',
    fits: onAny,
    limits: ({ backend }) => (backend === 'postgres' ? ['overlap'] : ['no losses']),
    run: (trial) =>
      course(trial, {
        begin: () =>
          repeatedly(4, () => {
            for (const { lines } of trial.workers) for (const line of [...lines.redis, lines.postgres]) line.reset();
          }),
      }),
  },
  {
    id: 'release-race',
    title: 'locks are given back while their renewal is under way',
    about: `${4 * RACING_KEYS} keys for ${RACE_MS / 1000} s, replies that take 5 to 30 ms`,
    fits: onAny,
    limits: () => ['no losses'],
    run: race,
  },
];

async function race(trial: Trial): Promise<void> {
  await trial.begin();
  trial.quietAt = nowMs();
  trial.broken();
  const lines = trial.workers.flatMap((worker) => [...worker.lines.redis, worker.lines.postgres]);
  for (const line of lines) line.delay(5, 30);
  const afterMs = trial.adapter.renewsAfterMs;
  for (const worker of trial.workers) worker.send({ do: 'race', keys: RACING_KEYS, afterMs });
  await sleep(RACE_MS);
  await Promise.all(lines.map((line) => line.pass()));
  trial.healed();
  trial.recoveredAt = trial.healedAt;
  await trial.rest();
}
