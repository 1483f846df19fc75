import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { Cron, CronExpression, Interval, ScheduleModule, Timeout } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  DistributedLockModule,
  FencingToken,
  LockManager,
  LockSignal,
  MemoryStore,
  WithLock,
} from 'nestjs-fenced-lock';
import { deferred, type Deferred } from './deferred.js';

interface Run {
  readonly pod: number;
  readonly job: string;
  readonly token: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly gate: Deferred<void>;
}

const runs: Run[] = [];

function work(job: Jobs, name: string, token?: number, signal?: AbortSignal): Promise<void> {
  const gate = deferred();
  runs.push({ pod: job.pod, job: name, token, signal, gate });
  return gate.promise;
}

@Injectable()
class Jobs {
  pod = 0;

  @Cron(CronExpression.EVERY_MINUTE)
  @WithLock('job:cron', { ttl: 30, autoRenew: true })
  async cron(@FencingToken() token?: number, @LockSignal() signal?: AbortSignal): Promise<void> {
    return work(this, 'cron', token, signal);
  }

  @WithLock('job:cron-below')
  @Cron(CronExpression.EVERY_MINUTE)
  async cronBelow(@FencingToken() token?: number): Promise<void> {
    return work(this, 'cronBelow', token);
  }

  @Interval(60_000)
  @WithLock('job:interval')
  async interval(@FencingToken() token?: number): Promise<void> {
    return work(this, 'interval', token);
  }

  @WithLock('job:interval-below')
  @Interval(60_000)
  async intervalBelow(): Promise<void> {
    return work(this, 'intervalBelow');
  }

  @Timeout(60_000)
  @WithLock('job:timeout')
  async timeout(): Promise<void> {
    return work(this, 'timeout');
  }

  @WithLock('job:timeout-below')
  @Timeout(60_000)
  async timeoutBelow(@LockSignal() signal?: AbortSignal): Promise<void> {
    return work(this, 'timeoutBelow', undefined, signal);
  }
}

describe('scheduled methods of two pods', () => {
  const pods: INestApplicationContext[] = [];
  let store: MemoryStore;

  const of = (job: string): Run[] => runs.filter((run) => run.job === job);

  beforeEach(async () => {
    jest.useFakeTimers({ now: Date.UTC(2030, 0, 1), doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    store = new MemoryStore();
    for (const pod of [1, 2]) {
      const module = await Test.createTestingModule({
        imports: [ScheduleModule.forRoot(), DistributedLockModule.forRoot({ store, shutdownTimeout: '1s' })],
        providers: [Jobs],
      }).compile();
      module.get(Jobs).pod = pod;
      module.useLogger(false);
      pods.push(await module.init());
    }
  });

  afterEach(async () => {
    for (const { gate } of runs.splice(0)) gate.resolve();
    await Promise.all(pods.splice(0).map((pod) => pod.close()));
    jest.useRealTimers();
  });

  it.each(['cron', 'cronBelow', 'interval', 'intervalBelow', 'timeout', 'timeoutBelow'])(
    'run %s on exactly one pod',
    async (job) => {
      await jest.advanceTimersByTimeAsync(61_000);
      expect(of(job)).toHaveLength(1);
    },
  );

  it('leave out the ticks that come while one still runs, and run again afterwards with a higher token', async () => {
    await jest.advanceTimersByTimeAsync(61_000);
    await jest.advanceTimersByTimeAsync(180_000);
    expect([of('cron'), of('interval')].map((all) => all.length)).toEqual([1, 1]);

    of('cron')[0]?.gate.resolve();
    of('interval')[0]?.gate.resolve();
    await jest.advanceTimersByTimeAsync(60_000);
    for (const job of ['cron', 'interval']) {
      const [first, second] = of(job);
      expect(first?.token).toEqual(expect.any(Number));
      expect(second?.token).toBeGreaterThan(first?.token ?? Number.NaN);
    }
  });

  it('hand the signal to the method', async () => {
    await jest.advanceTimersByTimeAsync(61_000);
    expect([of('cron')[0], of('timeoutBelow')[0]].map((run) => run?.signal?.aborted)).toEqual([false, false]);
  });

  it('run on the other pod when the first one goes', async () => {
    await jest.advanceTimersByTimeAsync(61_000);
    const [first] = of('cron');
    const leaving = pods.splice((first?.pod ?? 1) - 1, 1)[0];
    const closed = leaving?.close();
    first?.gate.resolve();
    await jest.advanceTimersByTimeAsync(2000);
    await closed;
    await jest.advanceTimersByTimeAsync(60_000);
    expect(of('cron').map(({ pod }) => pod)).toEqual([first?.pod, first?.pod === 1 ? 2 : 1]);
  });

  it('leave a key alone that someone else holds', async () => {
    await using _ = await new LockManager(store).acquire('job:cron');
    await jest.advanceTimersByTimeAsync(121_000);
    expect([of('cron').length, of('cronBelow').length]).toEqual([0, 1]);
  });
});
