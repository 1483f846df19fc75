export { FaultyStore, type StoreFault, type StoreVerb } from './faulty-store.js';
export { LockingTestingModule, type LockingTestingModuleOptions } from './locking-testing.module.js';
export { ManualRuntime } from './manual-runtime.js';
export { defineStoreContract, type StoreContractOptions } from './store-contract.js';
