import type { AcquireResult, LockStore } from '../lock-store.js';
import type { Authority, AuthorityState, PodReport } from './authority.js';

/**
 * A store that can stand in for Redis: it also keeps the authority row, and ties what it grants to it. Where a verb is tied to a state, the row cannot leave that
 * state before the verb is done, and `undefined` says that it is not in that state.
 *
 * A lock is held *alone* when only this store has it; no change to REDIS is possible while there is one.
 */
export interface FallbackStore extends LockStore {
  /** As `acquire`, tied to the state. Alone if that is POSTGRES. The token is above `tokenCeiling`. */
  acquireUnder(
    state: 'POSTGRES' | 'BOTH',
    key: string,
    owner: string,
    ttlMs: number,
  ): Promise<AcquireResult | undefined>;

  /**
   * Takes the key, alone, for an owner who holds it on Redis with this token; the key's next token is above it. An owner who has it here already becomes alone.
   * Tied to this epoch, which is one of DRAINING. False: someone else has it.
   */
  carry(epoch: number, key: string, owner: string, ttlMs: number, fencingToken: number): Promise<boolean | undefined>;

  /**
   * Renews, and says whether the lock is held alone from now on. `true` is tied to POSTGRES. False: not ours any more.
   */
  renewAlone(key: string, owner: string, ttlMs: number, alone: boolean): Promise<boolean | undefined>;

  raise(key: string, owner: string, fencingToken: number): Promise<boolean>;

  /** Reports, and reads the row; makes it (REDIS, epoch 1) if there is none. In REDIS it lifts `tokenCeiling` well above all that is known: `tokenFloor`, `tokenSeen`, and the clock + `tokenLead`. */
  consult(report: PodReport): Promise<Authority>;

  /**
   * Changes the state, if the row is still in `epoch`, and returns the row as it is then. To REDIS only if no lock is held alone; from BOTH to REDIS
   * `tokenFloor` becomes the highest token this store ever gave out or set aside, and `tokenLead` what that is above this store's clock (0 at least).
   */
  move(epoch: number, to: AuthorityState, reason: string): Promise<Authority>;
}
