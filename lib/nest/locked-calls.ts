import { Logger } from '@nestjs/common';
import { isObservable, Observable, Subscription, type Subscriber } from 'rxjs';
import { LockBusyError, LockOptionsError, LockShutdownError } from '../errors.js';
import type { LockManager } from '../lock-manager.js';
import { importOf, managerProperty } from './lock-tokens.js';
import type { Lock } from '../lock.js';
import type { WithLockOptions } from '../lock.options.js';
import { handlesTicks, isServerSentEvents } from './handler-kind.js';
import { fillLockParameters, type LockParameter } from './locked-method.js';

export interface LockedCallsSetup {
  /** `BillingService.bill`, for messages. */
  readonly method: string;
  readonly original: (...args: unknown[]) => unknown;
  readonly keysOf: (args: unknown[]) => string | readonly string[];
  readonly options: Omit<WithLockOptions, 'signal'>;
  readonly onBusy: 'throw' | 'skip' | undefined;
  readonly manager: string | undefined;
  readonly parameters: () => readonly LockParameter[];
}

const logger = new Logger('WithLock');

/** The calls of one `@WithLock` method, on whatever instance of whatever application. */
export class LockedCalls {
  readonly #managerProperty: symbol;
  /** Known for good once the class is declared, so by the first call. */
  #parameters: readonly LockParameter[] | undefined;

  constructor(private readonly setup: LockedCallsSetup) {
    this.#managerProperty = managerProperty(setup.manager);
  }

  async run(instance: unknown, args: unknown[], wrapper: object): Promise<unknown> {
    let granted = false;
    try {
      return await this.#lockFor(instance, args, (lock) => {
        granted = true;
        return this.#settled(this.#call(instance, args, lock));
      });
    } catch (error) {
      if (granted || !this.#skips(error, wrapper)) throw error;
      return undefined;
    }
  }

  /** Locks from subscription to completion, error or unsubscribe; a subscriber that leaves while waiting leaves nothing behind. */
  observe(instance: unknown, args: unknown[], wrapper: object): Observable<unknown> {
    return new Observable((subscriber) => {
      const abandon = new AbortController();
      subscriber.add(() => abandon.abort());
      let granted = false;
      const work = (lock: Lock): Promise<void> => {
        granted = true;
        return subscriber.closed ? Promise.resolve() : this.#pour(instance, args, lock, subscriber);
      };
      this.#lockFor(instance, args, work, abandon.signal).then(
        () => subscriber.complete(),
        (error: unknown) => {
          if (subscriber.closed) return;
          if (granted || !this.#skips(error, wrapper)) return subscriber.error(error);
          // Nest answers an HTTP request with the last value, and fails without one.
          if (!isServerSentEvents(wrapper)) subscriber.next(undefined);
          subscriber.complete();
        },
      );
    });
  }

  /** Hands the method's values on; settles when its Observable ended, its subscriber left, or the lock was lost. */
  #pour(instance: unknown, args: unknown[], lock: Lock, subscriber: Subscriber<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      const source = new Subscription();
      const lost = (): void => {
        source.unsubscribe();
        reject(lock.signal.reason as Error);
      };
      subscriber.add(() => resolve());
      subscriber.add(source);
      if (this.setup.options.onLost !== 'ignore') {
        // A stream may never end by itself: it must not go on beside its successor.
        lock.signal.addEventListener('abort', lost);
        source.add(() => lock.signal.removeEventListener('abort', lost));
      }
      source.add(
        this.#observable(this.#call(instance, args, lock)).subscribe({
          next: (value) => subscriber.next(value),
          error: reject,
          complete: () => resolve(),
        }),
      );
    });
  }

  #lockFor<T>(instance: unknown, args: unknown[], work: (lock: Lock) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { keysOf, options } = this.setup;
    const manager = this.#managerOf(instance);
    return manager.withLock(keysOf(args), signal ? { ...options, signal } : options, work);
  }

  #managerOf(instance: unknown): LockManager {
    const { manager, method } = this.setup;
    const bound = (instance as Record<symbol, LockManager | undefined> | undefined)?.[this.#managerProperty];
    if (bound) return bound;
    throw new LockOptionsError(
      'call of',
      method,
      instance === undefined
        ? 'it was called without its instance; call it on the instance, or bind it.'
        : 'its instance has no lock manager, because Nest did not make it or has not finished starting. Get it from Nest ' +
            `instead of calling new, and have ${importOf(manager)} in the imports of the root module. In a unit test: ` +
            'withLocks(instance) of nestjs-fenced-lock/testing.',
    );
  }

  #call(instance: unknown, args: unknown[], lock: Lock): unknown {
    const { method, original, parameters } = this.setup;
    this.#parameters ??= parameters();
    return original.apply(instance, fillLockParameters(method, args, this.#parameters, lock));
  }

  async #settled(result: unknown): Promise<unknown> {
    const { method } = this.setup;
    if (isObservable(result)) throw this.#unannotated();
    if (typeof (result as PromiseLike<unknown> | undefined)?.then !== 'function') {
      throw new TypeError(`${method} ended before its lock could cover it: a method with @WithLock must be async.`);
    }
    const value = await (result as PromiseLike<unknown>);
    if (isObservable(value)) throw this.#unannotated();
    return value;
  }

  #observable(result: unknown): Observable<unknown> {
    if (isObservable(result)) return result;
    throw new TypeError(`${this.setup.method} is declared to return an Observable, but returned something else.`);
  }

  #unannotated(): TypeError {
    return new TypeError(
      `${this.setup.method} returned an Observable that its lock would not cover. Declare the return type Observable<…> on the ` +
        'method, without a promise around it, and import Observable as a value (not with `import type`).',
    );
  }

  /** Whether this refusal means that the call is left out, because someone else does the work. */
  #skips(error: unknown, wrapper: object): error is Error {
    const tick = handlesTicks(wrapper);
    if ((this.setup.onBusy ?? (tick ? 'skip' : 'throw')) !== 'skip') return false;
    // In a shutdown nobody is known to do it: a caller has to hear of that, a tick has none and comes to the other pods too.
    if (!(error instanceof LockBusyError || (tick && error instanceof LockShutdownError))) return false;
    logger.debug(`Skipped ${this.setup.method}. ${error.message}`);
    return true;
  }
}
