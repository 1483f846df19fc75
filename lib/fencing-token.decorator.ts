import { LockOptionsError } from './errors.js';
import type { Lock } from './lock.js';
import { addLockParameter, describeMethod } from './nest/locked-method.js';

type LockParameterDecorator = (target: object, name: string | symbol | undefined, index: number) => void;

/**
 * In a `@WithLock` method: the fencing token of this call's lock, a number higher than that of any earlier holder. Hand it
 * to every write that the lock protects.
 */
export function FencingToken(): LockParameterDecorator {
  return lockParameter('@FencingToken()', (lock) => lock.fencingToken);
}

/** In a `@WithLock` method: an `AbortSignal` that aborts as soon as the lock is known to be lost. */
export function LockSignal(): LockParameterDecorator {
  return lockParameter('@LockSignal()', (lock) => lock.signal);
}

/** In a `@WithLock` method: the lock itself. The method's end releases it. */
export function CurrentLock(): LockParameterDecorator {
  return lockParameter('@CurrentLock()', (lock) => lock);
}

function lockParameter(decorator: string, read: (lock: Lock) => unknown): LockParameterDecorator {
  return (target, name, index) => {
    if (name === undefined || typeof target === 'function') {
      const place =
        name === undefined ? `the constructor of ${(target as { name?: string }).name}` : describeMethod(target, name);
      throw new LockOptionsError(
        `place of ${decorator} in`,
        place,
        'put it on a parameter of an instance method with @WithLock.',
      );
    }
    addLockParameter(target, name, { index, decorator, read });
  };
}
