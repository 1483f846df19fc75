import { Inject } from '@nestjs/common';
import { Observable } from 'rxjs';
import { LockOptionsError } from './errors.js';
import { KeyTemplate } from './key-template.js';
import { checkedManagerName, lockManagerToken, managerProperty } from './nest/lock-tokens.js';
import { LONGEST_LABEL, toTerms, type WithLockOptions } from './lock.options.js';
import { LockedCalls } from './nest/locked-calls.js';
import { addLockedMethod, describeMethod, lockedMethods, lockParameters } from './nest/locked-method.js';

/** What `@WithLock` takes beside the key. */
export interface WithLockDecoratorOptions extends Omit<WithLockOptions, 'signal'> {
  /**
   * What a busy key does to a call: 'throw' rejects with `LockBusyError`; 'skip' resolves with undefined, without the method
   * having run. Default: 'skip' on `@Cron`, `@Interval`, `@Timeout` and `@OnEvent` methods (also during a shutdown), 'throw' elsewhere.
   * A store out of reach (`LockUnavailableError`) always rejects: the scheduler logs that, and so does the event emitter, unless
   * `suppressErrors: false` lets it through to `emitAsync`, or from `emit` to the process as an unhandled rejection.
   */
  readonly onBusy?: 'throw' | 'skip';
  /** The manager of `forRoot({ name })`. Default: the one without a name. */
  readonly manager?: string;
}

/** A template, several, or a function of the method's arguments. */
export type LockKey<A extends any[]> = string | readonly string[] | ((...args: A) => string | readonly string[]);

/**
 * Accepts methods that return a promise or an Observable and whose arguments suit the key function.
 * @typeParam T the method's type
 */
export type WithLockDecorator<A extends any[]> = <
  T extends (...args: [...A, ...any[]]) => Promise<unknown> | Observable<unknown>,
>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<T>,
) => void;

/**
 * Runs the method under a lock: from its call until its promise settles, or from the subscription of its Observable until
 * that completes, fails or is unsubscribed. It works on any method of a class that Nest makes, above or below other decorators.
 *
 * @param key `job:billing`, `ticket:{0}` or `order:{1.customer.id}` (arguments of the call), an array of these (all or none),
 * or a function of the arguments.
 * @throws LockOptionsError at once for a bad template, a bad option, or a method that cannot be locked.
 */
export function WithLock<A extends any[]>(
  key: LockKey<A>,
  options: WithLockDecoratorOptions = {},
): WithLockDecorator<A> {
  const keysOf = keyReader(key);
  const { onBusy, manager, ...lockOptions } = checkedOptions(options);

  return (target, name, descriptor) => {
    const method = describeMethod(target, name);
    const returnsObservable = checkMethod(target, name, descriptor, method);
    refuseLockParametersInKey(key, target, name);

    const original = descriptor.value as unknown as (...args: unknown[]) => unknown;
    const calls = new LockedCalls({
      method,
      original,
      keysOf: keysOf as (args: unknown[]) => string | readonly string[],
      options: { label: labelOf(key, method), ...lockOptions },
      onBusy,
      manager,
      parameters: () => lockParameters(target).get(name) ?? [],
    });
    const wrapper: (this: unknown, ...args: unknown[]) => unknown = returnsObservable
      ? function (this: unknown, ...args: unknown[]) {
          return calls.observe(this, args, wrapper);
        }
      : function (this: unknown, ...args: unknown[]) {
          return calls.run(this, args, wrapper);
        };
    takeOver(original, wrapper);
    addLockedMethod(target, name, { manager, returnsObservable });
    injectOnce(target, manager);
    descriptor.value = wrapper as never;
  };
}

/** Bounded in number and length, as keys are not. */
function labelOf(key: LockKey<any[]>, method: string): string {
  const label = typeof key === 'function' ? method : [key].flat().join(' + ');
  return label.length > LONGEST_LABEL ? `${label.slice(0, LONGEST_LABEL - 1)}…` : label;
}

function keyReader(key: LockKey<any[]>): (args: any[]) => string | readonly string[] {
  if (typeof key === 'function') return (args) => key(...args);
  if (typeof key === 'string') {
    const template = new KeyTemplate(key);
    return (args) => template.fill(args);
  }
  if (!Array.isArray(key) || key.length === 0) {
    throw new LockOptionsError('key of @WithLock', key, 'give a template, a non-empty array of them, or a function.');
  }
  const templates = key.map((template: string) => new KeyTemplate(template));
  return (args) => templates.map((template) => template.fill(args));
}

function checkedOptions(options: WithLockDecoratorOptions): WithLockDecoratorOptions {
  if (typeof options !== 'object' || options === null) {
    throw new LockOptionsError('options of @WithLock', options, 'give an object such as { ttl: 30 }.');
  }
  const { onBusy, manager, ...lockOptions } = options;
  if (onBusy !== undefined && onBusy !== 'throw' && onBusy !== 'skip') {
    throw new LockOptionsError('onBusy', onBusy, "give 'throw' or 'skip'.");
  }
  if ('signal' in options) {
    throw new LockOptionsError('option of @WithLock', 'signal', 'one signal cannot serve all calls; use LockManager.');
  }
  if (manager !== undefined) checkedManagerName(manager);
  toTerms(lockOptions);
  return options;
}

/** @returns Whether the method is declared to return an Observable. */
function checkMethod(target: object, name: string | symbol, descriptor: PropertyDescriptor, method: string): boolean {
  const refuse = (remedy: string) => new LockOptionsError('use of @WithLock on', method, remedy);
  if (typeof target === 'function')
    throw refuse('it is static, so Nest has no instance to give a manager to; make it an instance method.');
  const original: unknown = descriptor?.value;
  if (typeof original !== 'function') throw refuse('it is not a method; put @WithLock on a method.');
  if (lockedMethods(target).has(name)) throw refuse('it already has @WithLock; give one @WithLock an array of keys.');
  if (/Generator/.test(original.constructor.name)) {
    throw refuse('a generator runs only as it is read; return a promise or an Observable.');
  }

  const returned: unknown = Reflect.getMetadata('design:returntype', target, name);
  if (typeof returned !== 'function' || returned === Object || returned === Promise) return false;
  const prototype = returned.prototype as { then?: unknown; subscribe?: unknown } | undefined;
  if (returned === Observable || typeof prototype?.subscribe === 'function') return true;
  if (typeof prototype?.then === 'function') return false;
  throw refuse(`it returns ${returned.name}, and a lock cannot be taken synchronously; make it async.`);
}

function refuseLockParametersInKey(key: LockKey<any[]>, target: object, name: string | symbol): void {
  if (typeof key === 'function') return;
  for (const { index, decorator } of lockParameters(target).get(name) ?? []) {
    for (const template of [key].flat()) {
      if (!new KeyTemplate(template).arguments.includes(index)) continue;
      throw new LockOptionsError(
        'key template',
        template,
        `{${index}} is ${decorator}, known only once the lock is held.`,
      );
    }
  }
}

/** Everything that other decorators left on the method, and what Nest and Swagger read from it, is on the wrapper too. */
function takeOver(original: object, wrapper: object): void {
  for (const key of Reflect.ownKeys(original)) {
    const property = Object.getOwnPropertyDescriptor(original, key);
    const own = Object.getOwnPropertyDescriptor(wrapper, key);
    if (property && own?.configurable !== false) Object.defineProperty(wrapper, key, property);
  }
  for (const key of Reflect.getOwnMetadataKeys(original)) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, original), wrapper);
  }
}

function injectOnce(target: object, manager: string | undefined): void {
  const property = managerProperty(manager);
  const marker = Symbol.for(`nestjs-fenced-lock: injected ${String(property)}`);
  if (Reflect.hasOwnMetadata(marker, target)) return;
  Reflect.defineMetadata(marker, true, target);
  Inject(lockManagerToken(manager))(target, property);
}
