import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import { LockOptionsError } from '../errors.js';
import { checkedManagerName } from '../nest/lock-tokens.js';

/** Options of `LockDashboardModule.forRoot()`. */
export interface LockDashboardOptions {
  /** Where the page is, below a global prefix if there is one. Default `/locks`. */
  readonly path?: string;
  /** Who may see it: each of them has to let a request pass, as with `@UseGuards`. Required, unless `allowUnguarded` is true. */
  readonly guards?: readonly (CanActivate | Type<CanActivate>)[];
  /** The modules that have what the guards inject, and the lock module if it is not global. */
  readonly imports?: NonNullable<ModuleMetadata['imports']>;
  /** Whether it may be without a guard of its own: everyone who reaches the port then sees every key. Default false. */
  readonly allowUnguarded?: boolean;
  /** Whether locks can be taken from their holders here. Until these have noticed, two are at work. Default false. */
  readonly release?: boolean;
  /** The manager of `forRoot({ name })`. Default: the one without a name. */
  readonly manager?: string;
}

export interface DashboardSettings {
  /** Without slashes around it. */
  readonly path: string;
  readonly guards: readonly (CanActivate | Type<CanActivate>)[];
  readonly imports: NonNullable<ModuleMetadata['imports']>;
  readonly release: boolean;
  readonly manager: string | undefined;
}

const KNOWN = ['path', 'guards', 'imports', 'allowUnguarded', 'release', 'manager'];
/** What needs no escaping in an address, and is no pattern to a router. */
const PATH = /^\/?([\w.~-]+(?:\/[\w.~-]+)*)\/?$/;

/** @throws LockOptionsError naming the option, its value and what is accepted. */
export function toDashboardSettings(options: LockDashboardOptions): DashboardSettings {
  if (typeof options !== 'object' || options === null) {
    throw new LockOptionsError('dashboard options', options, 'give an object such as { guards: [AdminGuard] }.');
  }
  for (const name of Object.keys(options)) {
    if (!KNOWN.includes(name)) throw new LockOptionsError('dashboard option', name, `known are ${KNOWN.join(', ')}.`);
  }
  const { path = '/locks', guards = [], imports = [], allowUnguarded = false, release = false, manager } = options;
  const [, trimmed] = (typeof path === 'string' && PATH.exec(path)) || [];
  if (trimmed === undefined) {
    throw new LockOptionsError('path', path, "give one such as '/locks' or '/admin/locks', without a pattern.");
  }
  for (const [name, value] of Object.entries({ allowUnguarded, release })) {
    if (typeof value !== 'boolean') throw new LockOptionsError(name, value, 'give true or false.');
  }
  if (!Array.isArray(imports)) throw new LockOptionsError('imports', imports, 'give an array of modules.');
  checkGuards(guards, allowUnguarded);
  if (manager !== undefined) checkedManagerName(manager);
  return { path: trimmed, guards, imports, release, manager };
}

function checkGuards(guards: unknown, allowUnguarded: boolean): void {
  const isGuard = (guard: unknown): boolean =>
    typeof guard === 'function' || typeof (guard as CanActivate | null)?.canActivate === 'function';
  if (!Array.isArray(guards) || !guards.every(isGuard)) {
    throw new LockOptionsError('guards', guards, 'give an array of guards, such as [AdminGuard].');
  }
  if (guards.length > 0 || allowUnguarded) return;
  const remedy =
    'the dashboard shows every key and holder, so say who may see it: guards: [AdminGuard]. If something else keeps strangers out (a global guard, the network), say allowUnguarded: true.';
  throw new LockOptionsError('guards', guards, remedy);
}
