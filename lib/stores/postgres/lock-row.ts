import type { LockState } from '../lock-store.js';
import type { Row } from './pg-client.js';

/** What `INSPECT` answers, and how long our own lease still runs if we hold it. */
export function toLockState(row: Row, ownRemainingMs: number | undefined): LockState {
  const keptMs = Number(row['kept_ms'] ?? 0);
  if (row['locked'] !== 't' && keptMs <= 0) return { locked: false };
  const isHeld = row['locked'] === 't';
  const remainingMs = ownRemainingMs ?? (keptMs > 0 ? keptMs : undefined);
  return {
    locked: true,
    ...(row['owner'] ? { owner: row['owner'] } : {}),
    ...(row['token'] ? { fencingToken: Number(row['token']) } : {}),
    ...(remainingMs === undefined ? {} : { remainingMs: Math.ceil(remainingMs) }),
    ...(isHeld ? {} : { released: true }),
    ...(row['waiters'] == null ? {} : { waiters: Number(row['waiters']) }),
  };
}
