import type { LockStore } from '../lock-store.js';

/** A store that another can stand in for: it can be told above which token to go on. */
export interface PrimaryStore extends LockStore {
  raise(key: string, owner: string, fencingToken: number): Promise<boolean>;
  /** From now on this process proposes only tokens above this one and, if `lead` is given, that much ahead of its clock. */
  proposeAbove(fencingToken: number, lead?: number): void;
}
