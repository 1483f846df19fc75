import type { Role } from '../table.js';

/** One way of keeping locks by renewing them. */
export interface Keeper {
  readonly name: string;
  readonly role: Role;
  /** Takes the keys, and renews them until they are let go. */
  keep(keys: readonly string[], ttlMs: number): Promise<void>;
  /** How many it knows that it has lost. */
  lost(): number;
  letGo(): Promise<void>;
}

export interface KeeperEntrant {
  readonly id: string;
  /** What it is called where it cannot take part. Only of peers. */
  readonly peerName?: string;
  open(url: string): Promise<Keeper>;
}

/** Of all keys, by which they are found on the server. */
export const KEY_MARK = 'renewed:';

/** As often as ours renews. */
export const RENEWALS_PER_TTL = 3;
