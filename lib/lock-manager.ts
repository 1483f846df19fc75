import type { Lock } from './lock.js';
import type { LockDefaults, LockOptions, WithLockOptions } from './lock.options.js';
import { systemRuntime, type Runtime } from './runtime.js';
import type { LockState, LockStore } from './stores/lock-store.js';

export interface LockManagerOptions {
  readonly defaults?: LockDefaults;
}

// TODO skeleton
export class LockManager {
  constructor(
    readonly store: LockStore,
    readonly options: LockManagerOptions = {},
    readonly runtime: Runtime = systemRuntime,
  ) {}
  static current(): Lock | undefined {
    return undefined;
  }
  acquire(_keys: string | readonly string[], _options?: LockOptions): Promise<Lock> {
    throw new Error('todo');
  }
  tryAcquire(_keys: string | readonly string[], _options?: LockOptions): Promise<Lock | null> {
    throw new Error('todo');
  }
  withLock<T>(keys: string | readonly string[], work: (lock: Lock) => Promise<T> | T): Promise<T>;
  withLock<T>(keys: string | readonly string[], options: WithLockOptions, work: (lock: Lock) => Promise<T> | T): Promise<T>;
  withLock(..._args: unknown[]): Promise<never> {
    throw new Error('todo');
  }
  isLocked(_key: string): Promise<boolean> {
    throw new Error('todo');
  }
  inspect(_key: string): Promise<LockState> {
    throw new Error('todo');
  }
  /** Grants nothing from now on; waiters reject. Locks held go on until `shutdown` is over. */
  beginShutdown(_timeoutMs: number): void {}
  /** Waits for held work (up to the timeout), then aborts signals, releases all, closes the store. */
  shutdown(_timeoutMs: number): Promise<void> {
    return Promise.resolve();
  }
}
