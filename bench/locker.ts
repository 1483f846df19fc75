/** A lock library as the bench uses it: every contender takes, holds and gives back locks through this. */
export interface Locker {
  readonly name: string;
  /** Takes the key, runs `work` if there is any, gives the key back. Throws when the key is taken, unless it can wait. */
  lock(key: string, work?: () => Promise<void>): Promise<void>;
  readonly close: () => Promise<void>;
  /** Whether it runs the work in an AsyncLocalStorage context. */
  readonly usesContext?: boolean;
}

export interface LockerOptions {
  readonly urls: readonly string[];
  /** Whether `lock` queues for a key that is taken, for as long as it needs. */
  readonly waits: boolean;
}

/** Resolves to the reason why it cannot run here, if so. */
export type OpenLocker = (
  options: LockerOptions,
) => Promise<Locker | { readonly name: string; readonly reason: string }>;

/** The default of `nestjs-fenced-lock`, for all. */
export const TTL_MS = 30_000;
/** How often those who poll for a taken key do so: the same for all. */
export const POLL_MS = 50;

export function isLocker(opened: Awaited<ReturnType<OpenLocker>>): opened is Locker {
  return 'lock' in opened;
}

/** Fence keys stay for a day, so the bench keeps to so many. */
const KEYS = 1000;

/** Takes and gives back one key of the locker's own after another. */
export function onKeysOf(locker: Locker): (index: number) => Promise<void> {
  // Made beforehand: the names of keys are no part of what is measured.
  const keys = Array.from({ length: KEYS }, (_, index) => `bench:${locker.name}:${index}`);
  return (index) => locker.lock(keys[index % KEYS]!);
}
