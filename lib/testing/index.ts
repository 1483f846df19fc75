export { LockingTestingModule, type LockingTestingModuleOptions } from './locking-testing.module.js';
