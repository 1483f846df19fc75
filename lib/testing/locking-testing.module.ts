import { Module, type DynamicModule } from '@nestjs/common';
import { DistributedLockModule, type DistributedLockModuleExtras } from '../distributed-lock.module.js';
import type { LockDefaults } from '../lock.options.js';
import type { LockStore } from '../stores/lock-store.js';
import { MemoryStore } from '../stores/memory.store.js';

export interface LockingTestingModuleOptions extends DistributedLockModuleExtras {
  /** The store. Default: a new `MemoryStore`. Give one that the test keeps, and it can play the other pod. */
  readonly store?: LockStore;
  readonly defaults?: LockDefaults;
}

/**
 * Locks for unit tests: real ones, in memory, with no server.
 *
 * ```ts
 * const store = new MemoryStore();
 * const app = await Test.createTestingModule({ imports: [LockingTestingModule.forRoot({ store })], providers: [BillingService] }).compile();
 * await using elsewhere = await new LockManager(store).acquire('job:billing');    // another pod has the key
 * await expect(app.get(BillingService).bill()).rejects.toThrow(LockBusyError);
 * ```
 */
@Module({})
export class LockingTestingModule {
  static forRoot(options: LockingTestingModuleOptions = {}): DynamicModule {
    const { store = new MemoryStore(), ...rest } = options;
    return DistributedLockModule.forRoot({ ...rest, store, shutdownTimeout: '1s' });
  }
}
