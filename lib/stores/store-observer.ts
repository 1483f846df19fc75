import type { AuthorityChange } from './failover/failover.options.js';

/** Told what becomes of the servers of a store. */
export interface StoreObserver {
  /** It cannot be reached, or does not answer. */
  nodeDown(node: string, reason: string): void;
  /** It is back. */
  nodeUp(node: string): void;
  /** It is asked something. Returns what to call when it answers, if that is of interest. */
  nodeAsked?(node: string): (() => void) | undefined;
  /** Another store decides from now on. */
  authorityChanged(change: AuthorityChange): void;
}
