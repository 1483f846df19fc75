import { systemRuntime, type Runtime } from '../runtime.js';

/** Not an option of the module: nobody but a test has another clock. */
const runtimes = new WeakMap<object, Runtime>();

/** Lets the module that is given this store run on the clock of a test. */
export function runOn(store: object, runtime: Runtime): void {
  runtimes.set(store, runtime);
}

export function runtimeOf(store: object | undefined): Runtime {
  return (store && runtimes.get(store)) ?? systemRuntime;
}
