import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BullModule, getQueueToken, Processor, WorkerHost } from '@nestjs/bullmq';
import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { QueueEvents, type Job, type Queue } from 'bullmq';
import { DistributedLockModule, FencingToken, LockManager, MemoryStore, WithLock } from 'nestjs-fenced-lock';
import { testRedis, type TestRedis } from './redis.js';

@Processor('mails')
class Mails extends WorkerHost {
  @WithLock('mail:{0.data.to}')
  async process(job: Job, token?: string, signal?: unknown, @FencingToken() fence?: number): Promise<unknown> {
    return [job.name, typeof token, typeof fence, signal === fence, LockManager.current()?.key];
  }
}

@Processor('careless')
class Careless extends WorkerHost {
  @WithLock('careless')
  async process(_job: Job, @FencingToken() fence?: any): Promise<unknown> {
    return fence;
  }
}

describe('BullMQ processors', () => {
  const store = new MemoryStore();
  let redis: TestRedis;
  let app: INestApplicationContext;
  let events: QueueEvents[];

  beforeAll(async () => {
    redis = await testRedis();
    const { hostname: host, port } = new URL(redis.url);
    const connection = { host, port: Number(port) };
    const module = await Test.createTestingModule({
      imports: [
        BullModule.forRoot({ connection }),
        BullModule.registerQueue({ name: 'mails' }, { name: 'careless' }),
        DistributedLockModule.forRoot({ store }),
      ],
      providers: [Mails, Careless],
    }).compile();
    module.useLogger(false);
    app = await module.init();
    events = ['mails', 'careless'].map((name) => new QueueEvents(name, { connection }));
    await Promise.all(events.map((each) => each.waitUntilReady()));
  });

  afterAll(async () => {
    await Promise.all(events.map((each) => each.close()));
    await app.close();
    await redis.stop();
  });

  async function process(queue: 'mails' | 'careless'): Promise<unknown> {
    const job = await app.get<Queue>(getQueueToken(queue)).add('welcome', { to: 'ada' });
    return job.waitUntilFinished(events[queue === 'mails' ? 0 : 1] as QueueEvents);
  }

  it('run a job under the lock, with the token behind what BullMQ passes', async () => {
    await expect(process('mails')).resolves.toEqual(['welcome', 'string', 'number', false, 'mail:ada']);
  });

  it('fail a job while the key is busy, for BullMQ to try again', async () => {
    await using _ = await new LockManager(store).acquire('mail:ada');
    await expect(process('mails')).rejects.toThrow(/"mail:ada" is held by someone else/);
  });

  it('fail a job rather than overwrite what BullMQ passes', async () => {
    await expect(process('careless')).rejects.toThrow(
      /Careless\.process.*argument 1.*behind the arguments of the caller/,
    );
  });
});
