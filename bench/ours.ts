import { NestFactory } from '@nestjs/core';
import type { DistributedLockModuleOptions, LockManager as Manager } from 'nestjs-fenced-lock';
import type { Locker, LockerOptions } from './locker.js';
import { DistributedLockModule, LockManager } from './package-under-test.js';

export interface OpenManager {
  readonly manager: Manager;
  readonly close: () => Promise<void>;
}

/** A LockManager as an application gets it. */
export async function openManager(options: DistributedLockModuleOptions): Promise<OpenManager> {
  const locks = DistributedLockModule.forRoot(options);
  const app = await NestFactory.createApplicationContext(locks, { logger: ['warn', 'error'] });
  return { manager: app.get<Manager>(LockManager), close: () => app.close() };
}

export function redisNodes(urls: readonly string[]): DistributedLockModuleOptions {
  // New nodes would abstain for a ttl; and a busy machine is not what the bench is about.
  return { nodes: [...urls], quarantine: 0, nodeTimeout: '1s' };
}

export function acquireAndRelease({ manager, close }: OpenManager, { waits }: Pick<LockerOptions, 'waits'>): Locker {
  return {
    name: 'nestjs-fenced-lock: acquire, release',
    async lock(key, work) {
      const lock = await (waits ? manager.acquire(key, { wait: '60s' }) : manager.acquire(key));
      await work?.();
      await lock.release();
    },
    close,
  };
}

export function withLock({ manager, close }: OpenManager): Locker {
  const nothing = async (): Promise<void> => undefined;
  return {
    name: 'nestjs-fenced-lock: withLock',
    usesContext: true,
    lock: (key, work = nothing) => manager.withLock(key, work),
    close,
  };
}
