import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { measure, type Contender } from './measure.js';
import { DistributedLockModule, LockManager, MemoryStore, WithLock } from './package-under-test.js';
import { scaled } from './scale.js';
import type { Setting } from './scenario.js';
import type { Role, Table } from './table.js';
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

const SAMPLES = 50;
const BATCH = 20;
const KEYS = 1000;

/** What the package itself costs, with no network in it. */
export async function inMemory(setting: Setting): Promise<Table> {
  const app = await NestFactory.createApplicationContext(ShopModule, { logger: ['warn', 'error'] });
  const shop = app.get(Shop);
  const manager = app.get<InstanceType<typeof LockManager>>(LockManager);
  const store = new MemoryStore();
  const contender = (name: string, role: Role, operation: (index: number) => Promise<unknown>): Contender => {
    return { name, role, turn: inBatches(scaled(SAMPLES, setting), BATCH, operation) };
  };
  try {
    return await measure(
      {
        title: 'No network: MemoryStore',
        operation: 'one call of a method, or one lock taken and given back',
        rounds: 50,
        ratioOf: 'operation',
        columns: ['ratio', 'ratioQuartiles', 'medianUs', 'p95Us', 'perSecond'],
        contenders: [
          contender('bare call of the method', 'limit', (index) => shop.plain(index % KEYS)),
          contender('@WithLock method', 'ours', (index) => shop.locked(index % KEYS)),
          contender('withLock', 'ours', (index) => manager.withLock(`ticket:${index % KEYS}`, async () => index)),
          contender('acquire, release', 'ours', async (index) => {
            const lock = await manager.acquire(`ticket:${index % KEYS}`);
            await lock.release();
          }),
          contender('MemoryStore alone: acquire, release', 'ours', async (index) => {
            const key = `ticket:${index % KEYS}`;
            await store.acquire(key, 'owner', 30_000);
            await store.release(key, 'owner');
          }),
        ],
      },
      setting,
    );
  } finally {
    await app.close();
  }
}
