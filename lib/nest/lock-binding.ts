import type { InjectionToken, Type } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { LockOptionsError } from '../errors.js';
import { getsBareMessages, handlesTicks } from './handler-kind.js';
import { importOf, lockManagerToken, managerProperty } from './lock-tokens.js';
import { describeMethod, lockedMethods, lockParameters, payloadInTheWay } from './locked-method.js';

type Module = ModulesContainer extends Map<string, infer M> ? M : never;
type Wrapper = Module['providers'] extends Map<unknown, infer W> ? W : never;
type Factory = (...dependencies: unknown[]) => unknown;

/**
 * Goes over everything Nest made: gives managers to the instances that property injection does not reach (those of useFactory
 * and useValue), and refuses what could only fail later, at the first call.
 */
export function bindLockManagers(modules: Iterable<Module>): void {
  for (const module of modules) {
    for (const collection of [module.controllers, module.providers, module.injectables]) {
      for (const wrapper of collection.values() as Iterable<Wrapper>) {
        if (wrapper.isAlias) continue;
        if (wrapper.isNotMetatype) bindMade(wrapper, module);
        else checkClass((wrapper.metatype as Type | null)?.prototype as object | undefined);
      }
    }
  }
}

function bindMade(wrapper: Wrapper, module: Module): void {
  if (wrapper.isFactory && (wrapper.isTransient || !wrapper.isDependencyTreeStatic())) {
    // Its instances come one per request or per host, each from this function.
    const make = wrapper.metatype as Factory;
    wrapper.metatype = async (...dependencies: unknown[]) => bind(await make(...dependencies), module);
    for (const transient of wrapper.getStaticTransientInstances()) bind(transient?.instance, module);
  } else {
    bind(wrapper.instance, module);
  }
}

function bind<T>(instance: T, module: Module): T {
  if (typeof instance !== 'object' || instance === null) return instance;
  const leaf = Object.getPrototypeOf(instance) as object | null;
  checkClass(leaf);
  for (const prototype of chain(leaf)) {
    for (const [name, { manager }] of lockedMethods(prototype)) {
      const refuse = (remedy: string) =>
        new LockOptionsError('use of @WithLock on', describeMethod(prototype, name), remedy);
      const found: unknown = visible(module, lockManagerToken(manager))?.instance;
      if (found === undefined) {
        throw refuse(`no such manager is visible here; add ${importOf(manager)} to the imports of your root module.`);
      }
      if (!Object.isExtensible(instance)) throw refuse('its instance is frozen or sealed; leave it open.');
      Object.defineProperty(instance, managerProperty(manager), { value: found, configurable: true, writable: true });
    }
  }
  return instance;
}

function* chain(prototype: object | null | undefined): Iterable<object> {
  for (let at = prototype; at && at !== Object.prototype; at = Object.getPrototypeOf(at) as object | null) yield at;
}

/** What Nest would inject for `token` in `module`: its own provider, or one that an import exports. */
function visible(module: Module, token: InjectionToken): Wrapper | undefined {
  return module.providers.get(token) ?? exported(module.imports, token, new Set());
}

function exported(modules: Iterable<Module>, token: InjectionToken, seen: Set<Module>): Wrapper | undefined {
  for (const module of modules) {
    if (seen.has(module)) continue;
    seen.add(module);
    const own = module.exports.has(token) ? module.providers.get(token) : undefined;
    const passedOn = [...module.imports].filter((imported) => module.exports.has(imported.metatype));
    const found = own ?? exported(passedOn, token, seen);
    if (found) return found;
  }
  return undefined;
}

/** @throws LockOptionsError for a misuse that shows only once all decorators of a class have run. */
function checkClass(leaf: object | null | undefined): void {
  for (const prototype of chain(leaf)) {
    const locked = lockedMethods(prototype);
    for (const [name, parameters] of lockParameters(prototype)) {
      const method = describeMethod(prototype, name);
      for (const parameter of parameters) {
        if (!locked.has(name)) {
          throw new LockOptionsError(`place of ${parameter.decorator} in`, method, 'it has no @WithLock; add it.');
        }
        const bare = getsBareMessages(methodOf(prototype, name), prototype.constructor, name);
        if (bare && parameter.index === 0) throw payloadInTheWay(method, parameter);
      }
    }
    for (const [name, { returnsObservable }] of locked) {
      if (!returnsObservable || !handlesTicks(methodOf(prototype, name))) continue;
      throw new LockOptionsError(
        'use of @WithLock on',
        describeMethod(prototype, name),
        'nobody subscribes to the Observable of a scheduled or event handler, so it would never run; return a promise.',
      );
    }
  }
}

function methodOf(prototype: object, name: string | symbol): object {
  return Object.getOwnPropertyDescriptor(prototype, name)?.value as object;
}
