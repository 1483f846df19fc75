import { LockOptionsError } from '../errors.js';
import type { Lock } from '../lock.js';

/** What `@WithLock` says about a method. */
export interface LockedMethod {
  readonly manager: string | undefined;
  readonly returnsObservable: boolean;
}

/** A parameter that the lock fills in. */
export interface LockParameter {
  readonly index: number;
  /** As the user wrote it, for messages. */
  readonly decorator: string;
  readonly read: (lock: Lock) => unknown;
}

// Kept on the prototype, not on the method: another decorator may wrap the method and leave our marks behind.
const LOCKED = Symbol.for('nestjs-fenced-lock: locked methods');
const PARAMETERS = Symbol.for('nestjs-fenced-lock: lock parameters');

type MethodName = string | symbol;

export function addLockedMethod(target: object, name: MethodName, method: LockedMethod): void {
  Reflect.defineMetadata(LOCKED, new Map([...lockedMethods(target), [name, method]]), target);
}

/** The methods of this very prototype that carry `@WithLock`. */
export function lockedMethods(prototype: object): ReadonlyMap<MethodName, LockedMethod> {
  return (Reflect.getOwnMetadata(LOCKED, prototype) as Map<MethodName, LockedMethod> | undefined) ?? new Map();
}

export function addLockParameter(target: object, name: MethodName, parameter: LockParameter): void {
  const all = new Map(lockParameters(target));
  all.set(name, [...(all.get(name) ?? []), parameter]);
  Reflect.defineMetadata(PARAMETERS, all, target);
}

/** The lock parameters of the methods of this very prototype. */
export function lockParameters(prototype: object): ReadonlyMap<MethodName, readonly LockParameter[]> {
  return (Reflect.getOwnMetadata(PARAMETERS, prototype) as Map<MethodName, LockParameter[]> | undefined) ?? new Map();
}

/** Puts the lock's values into the arguments of a call; the ones the caller gave are never overwritten. */
export function fillLockParameters(
  method: string,
  args: readonly unknown[],
  parameters: readonly LockParameter[],
  lock: Lock,
): unknown[] {
  const filled = [...args];
  for (const { index, decorator, read } of parameters) {
    if (filled[index] !== undefined) throw payloadInTheWay(method, { index, decorator });
    while (filled.length < index) filled.push(undefined);
    filled[index] = read(lock);
  }
  return filled;
}

export function payloadInTheWay(method: string, { index, decorator }: Pick<LockParameter, 'index' | 'decorator'>) {
  return new LockOptionsError(
    `place of ${decorator} in`,
    method,
    `the caller passes something of its own as argument ${index}, which would be overwritten. ` +
      'Mark the payload with @Payload() (microservices), @MessageBody() (gateways) or @Args() (resolvers), ' +
      `or move ${decorator} behind the arguments of the caller; when you call the method yourself, pass undefined there.`,
  );
}

/** `BillingService.bill`, for messages. */
export function describeMethod(target: object, name: MethodName): string {
  const owner = typeof target === 'function' ? target : target.constructor;
  return `${owner?.name || 'anonymous'}.${String(name)}`;
}
