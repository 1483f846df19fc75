import { Module, type DynamicModule, type InjectionToken } from '@nestjs/common';
import { DistributedLockModule, type DistributedLockModuleExtras } from '../distributed-lock.module.js';
import type { LockManager } from '../lock-manager.js';
import type { LockDefaults } from '../lock.options.js';
import { lockManagerToken } from '../nest/lock-tokens.js';
import { runOn } from '../nest/store-runtime.js';
import { systemRuntime } from '../runtime.js';
import type { LockStore } from '../stores/lock-store.js';
import { LosingStore } from './losing.store.js';
import type { ManualRuntime } from './manual-runtime.js';
import { TestLocks } from './test-locks.js';

export interface LockingTestingModuleOptions extends DistributedLockModuleExtras {
  /** The store. Default: one in memory, from which `loseLock` can take a key away. */
  readonly store?: LockStore;
  readonly defaults?: LockDefaults;
  /** A clock that only the test moves. Default: the real one. Give a store of your own the same. */
  readonly clock?: ManualRuntime;
}

/**
 * Locks for unit tests: real ones, in memory, with no server.
 *
 * ```ts
 * const app = await Test.createTestingModule({ imports: [LockingTestingModule.forRoot()], providers: [BillingService] }).compile();
 * const locks = app.get(TestLocks);
 * await using elsewhere = await locks.holdElsewhere('job:billing');
 * await expect(app.get(BillingService).bill()).rejects.toThrow(LockBusyError);
 * ```
 */
@Module({})
export class LockingTestingModule {
  /** In place of `DistributedLockModule.forRoot()`, for the module under test. */
  static forRoot(options: LockingTestingModuleOptions = {}): DynamicModule {
    const { clock: runtime = systemRuntime, store = new LosingStore(runtime), ...rest } = options;
    runOn(store, runtime);
    const token = testLocksToken(options.name);
    return {
      module: LockingTestingModule,
      global: options.isGlobal ?? true,
      imports: [DistributedLockModule.forRoot({ ...rest, store, shutdownTimeout: '1s' })],
      providers: [
        {
          provide: token,
          useFactory: (locks: LockManager) => new TestLocks({ locks, store, runtime }),
          inject: [lockManagerToken(options.name)],
        },
      ],
      exports: [token, DistributedLockModule],
    };
  }
}

/** The injection token of the `TestLocks` of a manager: the class itself for the default one. */
export function testLocksToken(name?: string): InjectionToken<TestLocks> {
  return name === undefined ? TestLocks : `TestLocks of ${name}`;
}
