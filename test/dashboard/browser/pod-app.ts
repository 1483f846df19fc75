import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributedLockModule, LockManager, type Lock } from 'nestjs-fenced-lock';
import { LockDashboardModule } from 'nestjs-fenced-lock/dashboard';
import type { PodMessage, PodOrder } from './pod-process.js';

const AT_ONCE = 500;

function tell(message: PodMessage): void {
  process.send!(message);
}

export async function startPod(nodes: readonly string[], port: number) {
  @Module({
    imports: [
      DistributedLockModule.forRoot({ nodes, quarantine: 0, shutdownTimeout: '2s' }),
      LockDashboardModule.forRoot({ allowUnguarded: true, release: true }),
    ],
  })
  class PodModule {}

  const app = await NestFactory.create(PodModule, { logger: ['error'] });
  app.enableShutdownHooks();
  await app.listen(port, '127.0.0.1');
  const locks = app.get(LockManager);
  const held = new Map<string, Lock>();
  locks.on('lost', ({ key, reason }) => tell({ type: 'lost', key, reason }));

  async function hold({ key, ...options }: Extract<PodOrder, { do: 'hold' }>): Promise<void> {
    const { do: _, ...terms } = options;
    try {
      const lock = await locks.acquire(key, terms);
      held.set(key, lock);
      tell({ type: 'holds', key, token: lock.fencingToken });
    } catch (error) {
      tell({ type: 'refused', key, code: (error as { code: string }).code });
    }
  }

  async function holdMany({ prefix, count, ttl }: Extract<PodOrder, { do: 'hold-many' }>): Promise<void> {
    for (let first = 0; first < count; first += AT_ONCE) {
      const numbers = Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, index) => first + index);
      const keys = numbers.map((number) => `${prefix}${String(number).padStart(5, '0')}`);
      await Promise.all(keys.map(async (key) => held.set(key, await locks.acquire(key, { ttl }))));
    }
    tell({ type: 'holds', key: prefix, token: 0 });
  }

  async function free(key: string): Promise<void> {
    await held.get(key)?.release();
    tell({ type: 'freed', key });
  }

  async function obey(order: PodOrder): Promise<void> {
    if (order.do === 'hold') return hold(order);
    if (order.do === 'hold-many') return holdMany(order);
    return free(order.key);
  }

  return { url: `${await app.getUrl()}/locks`, obey };
}
