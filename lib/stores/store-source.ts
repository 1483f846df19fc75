import type { Runtime } from '../runtime.js';
import type { LockStore } from './lock-store.js';

/** What a store that opens connections of its own is told when the module starts it. */
export interface StoreContext {
  /** The ttl locks usually have, in ms. */
  readonly ttlMs: number;
  /** For what somebody should act on. */
  readonly log: (message: string) => void;
}

/** A store that is yet to be opened: what `postgres(…)` returns, for the module to open at start-up. */
export interface StoreSource<S extends LockStore = LockStore> {
  /** @throws LockOptionsError when what was given can never work. A server that is only out of reach is logged, and joins when it comes up. */
  open(context: StoreContext, runtime?: Runtime): Promise<S>;
}
