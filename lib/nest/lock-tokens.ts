import type { InjectionToken } from '@nestjs/common';
import { LockOptionsError } from '../errors.js';
import { LockManager } from '../lock-manager.js';

/** The injection token of a manager: the `LockManager` class for the default one, a symbol for a named one. */
export function lockManagerToken(name?: string): InjectionToken<LockManager> {
  if (name === undefined) return LockManager;
  return Symbol.for(`nestjs-fenced-lock: the manager of ${importOf(checkedManagerName(name))}`);
}

/**
 * The property under which Nest puts the manager on an instance. Nest names it when it finds no such manager, so its
 * description is the remedy.
 */
export function managerProperty(name?: string): symbol {
  return Symbol.for(`manager of @WithLock: add ${importOf(name)} to the imports of your root module`);
}

/** What to import for a manager to exist, as the user would write it. */
export function importOf(name?: string): string {
  return `DistributedLockModule.forRoot(${name === undefined ? '' : `{ name: ${JSON.stringify(name)} }`})`;
}

export function checkedManagerName(name: unknown): string {
  if (typeof name !== 'string' || name.trim() === '') {
    throw new LockOptionsError('manager name', name, "give a non-empty string such as 'billing', or leave it out.");
  }
  return name;
}
