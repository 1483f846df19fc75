import { setTimeout as sleep } from 'node:timers/promises';
import { course, onAny, onNodes, type Fault } from '../fault.js';
import { nowMs } from '../messages.js';
import type { Trial } from '../trial.js';

const ASLEEP_MS = 4500;
const CUT_MS = 4000;

/** Stops the process, lets it sleep past its lease, and wakes it. */
async function sleepPastLease(trial: Trial): Promise<void> {
  trial.victim.freeze();
  trial.broken();
  await sleep(ASLEEP_MS);
  trial.wokeAt = nowMs();
}

/** What befalls the one that holds. */
export const HOLDER_FAULTS: readonly Fault[] = [
  {
    id: 'pause',
    title: 'the holder is frozen for 4.5 s between its read and its write',
    about: 'SIGSTOP, as by a hypervisor, a debugger or a full disk; then SIGCONT, and the write comes first',
    fits: onAny,
    limits: () => ['wake'],
    run: async (trial) => {
      await trial.begin();
      await trial.quiet();
      await trial.hold();
      await sleepPastLease(trial);
      // In its inbox when it wakes.
      trial.victim.send({ do: 'go' });
      trial.victim.thaw();
      trial.healed();
      await trial.end();
    },
  },
  {
    id: 'pause-in-reply',
    title: 'the holder is frozen for 4.5 s while the database answers it',
    about: 'as above, but after its check, in the middle of the transaction that writes: no check can help here',
    fits: onAny,
    limits: () => ['wake in reply'],
    run: async (trial) => {
      await trial.begin();
      await trial.quiet();
      await trial.hold(true);
      trial.victim.send({ do: 'go' });
      await trial.victim.told('awaiting');
      await sleepPastLease(trial);
      trial.victim.thaw();
      trial.healed();
      await trial.end();
    },
  },
  {
    id: 'block',
    title: "the holder's event loop is blocked for 4.5 s",
    about: 'as by a huge JSON.parse; the write comes in the same turn, before any timer',
    fits: onAny,
    limits: () => ['wake'],
    run: async (trial) => {
      await trial.begin();
      await trial.quiet();
      await trial.hold();
      trial.broken();
      trial.victim.send({ do: 'block', ms: ASLEEP_MS });
      trial.wokeAt = (await trial.victim.told('unblocked')).at;
      trial.healed();
      await trial.end();
    },
  },
  {
    id: 'kill',
    title: 'the holder is killed',
    about: 'SIGKILL: it gives nothing back',
    fits: onAny,
    limits: () => ['kill', 'overlap'],
    run: async (trial) => {
      await trial.begin();
      await trial.quiet();
      await trial.hold();
      trial.broken();
      await trial.victim.kill();
      trial.healed();
      await trial.end();
    },
  },
  {
    id: 'holder-cut',
    title: 'only the holder is cut off from Redis, for 4 s',
    about: 'its connections stay open and nothing gets through; the others see every node',
    fits: onNodes,
    limits: ({ backend }) => (backend === 'both' ? ['overlap'] : ['deadline']),
    run: (trial) =>
      course(trial, {
        begin: () => trial.victim.lines.redis.forEach((line) => line.blackhole()),
        lastsMs: CUT_MS,
        heal: () => trial.pass(),
      }),
  },
  {
    id: 'slow-then-cut',
    title: "the holder's replies take 0.4 s, then it is cut off",
    about: 'a lease that counts from when the reply came is 0.4 s too long',
    fits: ({ backend }) => backend === 'lone redis',
    limits: () => ['deadline'],
    run: async (trial) => {
      await trial.begin();
      await trial.quiet();
      const { redis } = trial.victim.lines;
      redis.forEach((line) => line.delay(400));
      await trial.hold();
      // By then its first renewal, which went out after a third of the ttl, has been answered, and the second has not gone out.
      await sleep(800);
      redis.forEach((line) => line.blackhole());
      trial.broken();
      await sleep(CUT_MS);
      await trial.pass();
      trial.healed();
      trial.victim.send({ do: 'go' });
      await trial.end();
    },
  },
];
