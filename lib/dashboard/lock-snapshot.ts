import type { LockEntry, LockPage, LockQuery } from '../lock-info.js';
import type { Clock } from '../runtime.js';

/** What is used of a manager. */
export interface LockLister {
  list(query: LockQuery): Promise<LockPage>;
}

/** One page of a listing, and between which moments on the wall clock it was looked up. */
export interface SeenPage {
  readonly locks: readonly LockEntry[];
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** All locks, as they were while they were read. */
export interface LockSnapshot {
  readonly pages: readonly SeenPage[];
  /** There are more. */
  readonly truncated: boolean;
  readonly readMs: number;
}

const PAGE = 1000;
/** More than anybody looks through; and what a page and this process can carry with ease. */
const MOST_LOCKS = 10_000;

/** @throws what `list` throws. */
export async function readLocks(locks: LockLister, clock: Clock, most = MOST_LOCKS): Promise<LockSnapshot> {
  const startedAt = clock.monotonic();
  const pages: SeenPage[] = [];
  let cursor: string | undefined;
  let left = most;
  do {
    const askedAt = clock.wall();
    const page = await locks.list({ limit: Math.min(PAGE, left), ...(cursor === undefined ? {} : { cursor }) });
    pages.push({ locks: page.locks, askedAt, answeredAt: clock.wall() });
    left -= page.locks.length;
    cursor = page.cursor;
  } while (cursor !== undefined && left > 0);
  return { pages, truncated: cursor !== undefined, readMs: clock.monotonic() - startedAt };
}
