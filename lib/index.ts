// Nest
export {
  DistributedLockModule,
  type DistributedLockModuleAsyncOptions,
  type DistributedLockModuleExtras,
  type DistributedLockOptionsFactory,
} from './distributed-lock.module.js';
export type { DistributedLockModuleOptions } from './distributed-lock.options.js';
export {
  WithLock,
  type LockKey,
  type WithLockDecorator,
  type WithLockDecoratorOptions,
} from './with-lock.decorator.js';
export { CurrentLock, FencingToken, LockSignal } from './fencing-token.decorator.js';
export { InjectLockManager } from './inject-lock-manager.decorator.js';
export { lockManagerToken } from './nest/lock-tokens.js';
export { LockExceptionFilter } from './lock-exception.filter.js';

// Locks
export { LockManager, type LockLog, type LockManagerOptions } from './lock-manager.js';
export { Lock } from './lock.js';
export type { LockHealth } from './lock-health.js';
export type { LockEntry, LockInfo, LockPage, LockQuery } from './lock-info.js';
export type { LockDefaults, LockOptions, WithLockOptions } from './lock.options.js';
export type { Duration } from './duration.js';

// Events
export type {
  HeldLockEvent,
  LockCallEvent,
  LockEventListener,
  LockEventMap,
  LockEventName,
  NodeEvent,
} from './lock-events.js';
export type { StoreObserver } from './stores/store-observer.js';

// Errors
export {
  LockBusyError,
  LockError,
  LockLostError,
  LockOptionsError,
  LockReentryError,
  LockShutdownError,
  LockUnavailableError,
  StaleTokenError,
  type LossReason,
  type NodeFailure,
} from './errors.js';

// Stores
export type {
  AcquireResult,
  KeyPage,
  KeyQuery,
  KeyState,
  Lease,
  LockState,
  LockStore,
  NodeCount,
  Place,
  Turn,
} from './stores/lock-store.js';
export type { NodeHealth, StoreHealth } from './stores/store-health.js';
export type { StoreContext, StoreSource } from './stores/store-source.js';
export type { AuthorityState } from './stores/failover/authority.js';
export type { AuthorityChange, FailoverOptions } from './stores/failover/failover.options.js';
export { MemoryStore } from './stores/memory.store.js';
export type { RedisClient, RedisNodeEntry, RedisNodeOptions } from './stores/redis/redis-client.js';
export { connectRedis, type RedisStoreOptions } from './stores/redis/redis.store.js';

// Guarded writes
export type { Fence } from './fencing/fence.js';
export { claimFence, fencingSchemaSql, type SqlClient } from './fencing/claim-fence.js';
export { fencedTransaction, type PooledClient, type SqlPool } from './fencing/fenced-transaction.js';
export { fencedGet, fencedSet, type FencedValue, type ScriptingClient } from './fencing/fenced-set.js';
