export type { Clock, Random, Runtime, Timers } from '../runtime.js';
export { FaultyStore, type StoreFault, type StoreVerb } from './faulty-store.js';
export { LockingTestingModule, testLocksToken, type LockingTestingModuleOptions } from './locking-testing.module.js';
export { ManualRuntime } from './manual-runtime.js';
export { defineStoreContract, type StoreContractOptions } from './store-contract.js';
export { TestLocks, withLocks, type TestLocksSetup } from './test-locks.js';
