import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Contender } from './measure.js';
import { DistributedLockModule, LockManager, MemoryStore, WithLock } from './package-under-test.js';
import { inBatches } from './turns.js';

@Injectable()
class Shop {
  async plain(id: number): Promise<number> {
    return id;
  }

  @WithLock('ticket:{0}')
  async locked(id: number): Promise<number> {
    return id;
  }
}

@Module({ imports: [DistributedLockModule.forRoot({ store: new MemoryStore() })], providers: [Shop] })
class ShopModule {}

const BATCH = 20;
const KEYS = 1000;

/** What the package itself costs, with no network in it. */
export async function inMemory(
  samples: number,
): Promise<{ contenders: [Contender, ...Contender[]]; close: () => Promise<void> }> {
  const app = await NestFactory.createApplicationContext(ShopModule, { logger: ['warn', 'error'] });
  const shop = app.get(Shop);
  const manager = app.get<InstanceType<typeof LockManager>>(LockManager);
  const store = new MemoryStore();
  const contender = (name: string, operation: (index: number) => Promise<unknown>): Contender =>
    inBatches(name, samples, BATCH, operation);
  return {
    contenders: [
      contender('bare call of the method', (index) => shop.plain(index % KEYS)),
      contender('@WithLock method', (index) => shop.locked(index % KEYS)),
      contender('withLock', (index) => manager.withLock(`ticket:${index % KEYS}`, async () => index)),
      contender('acquire, release', async (index) => {
        const lock = await manager.acquire(`ticket:${index % KEYS}`);
        await lock.release();
      }),
      contender('MemoryStore alone: acquire, release', async (index) => {
        const key = `ticket:${index % KEYS}`;
        await store.acquire(key, 'owner', 30_000);
        await store.release(key, 'owner');
      }),
    ],
    close: () => app.close(),
  };
}
