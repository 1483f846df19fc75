import { beforeEach, describe, expect, it } from '@jest/globals';
import type { LockManager } from 'nestjs-fenced-lock';
import { HoldHistory } from '../../lib/dashboard/hold-history.js';
import { ProcessFigures } from '../../lib/dashboard/process-figures.js';
import { watchProcess } from '../../lib/dashboard/process-watch.js';
import { manualLocks, steal } from '../support/manual-locks.js';

let world: ReturnType<typeof manualLocks>;
let figures: ProcessFigures;
let history: HoldHistory;
let changes: number;
let stop: () => void;

beforeEach(() => {
  world = manualLocks();
  figures = new ProcessFigures();
  history = new HoldHistory();
  changes = 0;
  const { clock } = world.runtime;
  const self = { pod: 'me', pid: 7 };
  stop = watchProcess(world.locks, { figures, history, clock, self, changed: () => changes++ });
});

const now = () => figures.at(world.runtime.clock.wall());

describe('What a process is seen to do', () => {
  it('is counted by outcome, under its label', async () => {
    const lock = await world.locks.acquire('a', { label: 'report' });
    await world.locks.tryAcquire('a', { label: 'report' });
    const waiting = world.locks.acquire('a', { wait: '10s', label: 'report' });
    await world.runtime.advance(2000);
    await lock.release();
    await world.runtime.advance(0);
    await (await waiting).release();
    expect(now().labels).toEqual([{ label: 'report', granted: 2, waiting: 1, busy: 1, unavailable: 0 }]);
    expect(
      now()
        .waits.map((count, index) => count && index)
        .filter((index) => index > 0),
    ).toEqual([7]);
  });

  it('is remembered as who held which key from when to when, each key of several', async () => {
    const startedAt = world.runtime.clock.wall();
    const lock = await world.locks.acquire(['a', 'b']);
    await world.runtime.advance(500);
    await lock.release();
    const hold = { pod: 'me', pid: 7, token: lock.fencingToken, from: startedAt, to: startedAt + 500, end: 'released' };
    expect(history.since(0)).toEqual([
      { key: 'a', ...hold },
      { key: 'b', ...hold },
    ]);
  });

  it('is counted and remembered as lost, with the reason', async () => {
    await world.locks.acquire('a', { ttl: '9s' });
    await steal(world.memory, 'a');
    await world.runtime.advance(3000);
    expect(now()).toMatchObject({ lost: 1, losses: [{ key: 'a', reason: 'taken', heldMs: 3000 }] });
    expect(history.since(0)).toMatchObject([{ key: 'a', end: 'lost', reason: 'taken' }]);
    expect(changes).toBe(1);
  });

  it('is not listened to any more after the end', async () => {
    const heard: string[] = [];
    const locks: Pick<LockManager, 'on'> = {
      on: (name) => {
        heard.push(name);
        return () => void heard.splice(heard.indexOf(name), 1);
      },
    };
    const end = watchProcess(locks, {
      ...{ figures, history },
      clock: world.runtime.clock,
      self: { pod: '', pid: 1 },
      changed: () => undefined,
    });
    expect(heard).toHaveLength(9);
    end();
    expect(heard).toEqual([]);
    stop();
    await (await world.locks.acquire('a')).release();
    expect(history.since(0)).toEqual([]);
  });
});
