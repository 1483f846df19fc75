import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { DistributedLockModuleOptions, LockManager as Manager } from 'nestjs-fenced-lock';
import { TTL_MS, type Locker, type LockerOptions, type OpenLocker } from './locker.js';
import { DistributedLockModule, LockManager, WithLock } from './package-under-test.js';

/** A provider as users write it. */
@Injectable()
class Counter {
  @WithLock('{0}')
  async locked(_key: string, work?: () => Promise<void>): Promise<void> {
    await work?.();
  }
}

export interface OpenManager {
  readonly manager: Manager;
  readonly counter: Counter;
  readonly close: () => Promise<void>;
}

/** A LockManager, and a provider, as an application gets them. */
export async function openManager(options: DistributedLockModuleOptions): Promise<OpenManager> {
  @Module({ imports: [DistributedLockModule.forRoot(options)], providers: [Counter] })
  class Application {}
  const app = await NestFactory.createApplicationContext(Application, { logger: ['warn', 'error'] });
  return { manager: app.get<Manager>(LockManager), counter: app.get(Counter), close: () => app.close() };
}

export function redisNodes({
  urls,
  ttlMs = TTL_MS,
}: Pick<LockerOptions, 'urls' | 'ttlMs'>): DistributedLockModuleOptions {
  // New nodes would abstain for a ttl; and a busy machine is not what the bench is about.
  return { nodes: [...urls], quarantine: 0, nodeTimeout: '1s', defaults: { ttl: `${ttlMs}ms` } };
}

export function acquireAndRelease({ manager, close }: OpenManager, { waits }: Pick<LockerOptions, 'waits'>): Locker {
  return {
    name: 'nestjs-fenced-lock: acquire, release',
    role: 'ours',
    async lock(key, work) {
      const lock = await (waits ? manager.acquire(key, { wait: '60s' }) : manager.acquire(key));
      await work?.();
      await lock.release();
    },
    close,
  };
}

export const openAcquireAndRelease: OpenLocker = async (options) =>
  acquireAndRelease(await openManager(redisNodes(options)), options);

export const openWithLock: OpenLocker = async (options) => {
  const { manager, close } = await openManager(redisNodes(options));
  const nothing = async (): Promise<void> => undefined;
  return {
    name: 'nestjs-fenced-lock: withLock',
    role: 'ours',
    lock: (key, work = nothing) => manager.withLock(key, work),
    close,
  };
};

export const openDecorated: OpenLocker = async (options) => {
  const { counter, close } = await openManager(redisNodes(options));
  return {
    name: 'nestjs-fenced-lock: @WithLock method',
    role: 'ours',
    lock: (key, work) => counter.locked(key, work),
    close,
  };
};
