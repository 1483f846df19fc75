import type { Role } from './table.js';

/** A lock library as the bench uses it: every contender takes, holds and gives back locks through this. */
export interface Locker {
  readonly name: string;
  readonly role: Role;
  /** Takes the key, runs `work` if there is any, gives the key back. Throws when the key is taken, unless it can wait. */
  lock(key: string, work?: () => Promise<void>): Promise<void>;
  readonly close: () => Promise<void>;
}

export interface LockerOptions {
  readonly urls: readonly string[];
  /** Whether `lock` queues for a key that is taken, for as long as it needs. */
  readonly waits: boolean;
  /** How often those who poll for a taken key do so, in ms; or each as it does by itself. Default: the same for all. */
  readonly poll?: number | 'own';
  /** Whether clients have the options that they have by themselves, and not those that the module gives its own. */
  readonly plain?: boolean;
  /** Instead of the default; only ours heeds it. */
  readonly ttlMs?: number;
}

export type OpenLocker = (options: LockerOptions) => Promise<Locker>;

/** The default of `nestjs-fenced-lock`, for all. */
export const TTL_MS = 30_000;
/** How often those who poll for a taken key do so: the same for all. */
export const POLL_MS = 50;

/** More than are ever in flight, so that a slow one is never met again. */
export const KEYS = 8192;

/** Takes and gives back one key of the locker's own after another. */
export function onKeysOf(locker: Locker, count = KEYS): (index: number) => Promise<void> {
  // Made beforehand: the names of keys are no part of what is measured.
  const keys = Array.from({ length: count }, (_, index) => `bench:${locker.name}:${index}`);
  return (index) => locker.lock(keys[index % count]!);
}
