import { AsyncLocalStorage } from 'node:async_hooks';
import type { Lock } from './lock.js';

interface LockScope {
  readonly lock: Lock;
  readonly outer: LockScope | undefined;
}

const scopes = new AsyncLocalStorage<LockScope>();

/** Runs `work` so that it, and whatever it starts, sees `lock` as its current lock. */
export function runWithLock<T>(lock: Lock, work: () => T): T {
  return scopes.run({ lock, outer: scopes.getStore() }, work);
}

/** The innermost lock of this async context that is still held. */
export function currentLock(): Lock | undefined {
  return findLock((lock) => lock.held);
}

/** The innermost lock of this async context that `matches`. */
export function findLock(matches: (lock: Lock) => boolean): Lock | undefined {
  for (let scope = scopes.getStore(); scope; scope = scope.outer) {
    if (matches(scope.lock)) return scope.lock;
  }
  return undefined;
}
