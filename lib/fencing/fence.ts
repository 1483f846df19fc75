import { LockOptionsError } from '../errors.js';

/** What a guarded write shows: what it is about to change, and the token of the lock that it holds. */
export interface Fence {
  /**
   * What is protected, under a name of your choice. All who write to it use this name, and locks over the same key: tokens of different keys do not compare.
   * Several resources under one lock: all or none are claimed when in a transaction.
   */
  readonly resource: string | readonly string[];
  /** `lock.fencingToken`. */
  readonly token: number;
}

/**
 * The resources, each once, in the order in which everybody takes them: two that want the same ones cannot wait for each other.
 * @throws LockOptionsError
 */
export function toResources(resource: Fence['resource']): readonly string[] {
  const resources: readonly unknown[] = Array.isArray(resource) ? resource : [resource];
  if (resources.length === 0) {
    throw new LockOptionsError('resource', resource, 'the list is empty; name at least one resource.');
  }
  for (const name of resources) {
    if (typeof name === 'string' && name !== '') continue;
    throw new LockOptionsError('resource', name, "name what the token protects, such as 'invoice:42'.");
  }
  return [...new Set(resources as readonly string[])].sort();
}

/** @throws LockOptionsError */
export function checkToken(token: number): void {
  if (Number.isSafeInteger(token) && token > 0) return;
  throw new LockOptionsError(
    'token',
    token,
    'give `lock.fencingToken` or what `@FencingToken()` injects: a positive whole number, as a number.',
  );
}
