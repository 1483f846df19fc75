import { hash } from 'node:crypto';
import type { LockEntry } from '../lock-info.js';
import type { HoldHistory } from './hold-history.js';
import type { LockSnapshot, SeenPage } from './lock-snapshot.js';
import type { Hold, HoldEnd, LockRow } from './protocol.js';

interface Entry {
  readonly row: LockRow;
  readonly owner: string;
  /** Of the table, when the row last changed. */
  readonly version: number;
  /** What of the lease was left when it was last seen. */
  readonly leftMs: number | undefined;
}

export interface TableChanges {
  readonly full?: true;
  readonly set: readonly LockRow[];
  readonly gone: readonly string[];
}

/** Of every two looks at a lease one may have been quicker than the other; that is no renewal. */
const SLACK_MS = 250;
/** A lease is renewed when a third of it is over; when nearly half of it is, a renewal is missing. */
const LATE = 0.55;
const MOST_GONE = 10_000;
const ID_LENGTH = 8;
const LONGEST_HOLDER = 80;

/** The locks that are held, as the snapshots show them, and what has changed since when. */
export class LockTable {
  #version = 0;
  readonly #entries = new Map<string, Entry>();
  /** Keys that came free, and at which version; the oldest first. */
  readonly #gone = new Map<string, number>();
  /** Who knows the table as of an older version than this lacks some that came free. */
  #horizon = 0;

  constructor(private readonly history: HoldHistory) {}

  get version(): number {
    return this.#version;
  }

  take({ pages, truncated }: LockSnapshot, now: number): void {
    this.#version++;
    const seen = new Set<string>();
    for (const page of pages) {
      for (const lock of page.locks) {
        // With nodes silent, who was seen to hold it may hold it still.
        const isUnsure = !lock.locked && lock.nodes !== undefined && lock.nodes.answering < lock.nodes.all;
        if (!lock.locked && !isUnsure) continue;
        seen.add(lock.key);
        if (lock.locked) this.#see(lock, page, now);
      }
    }
    for (const [key, entry] of this.#entries) {
      if (seen.has(key)) continue;
      this.#entries.delete(key);
      this.#bury(key);
      // In a list that was cut off, a key that is missing may be held as before.
      if (!truncated) this.history.add(this.#ended(entry, now));
    }
  }

  /** What to tell somebody who knows the table as of that version; undefined: who knows nothing of it. */
  changesSince(version: number | undefined): TableChanges {
    if (version === undefined || version < this.#horizon) {
      return { full: true, set: [...this.#entries.values()].map(({ row }) => row), gone: [] };
    }
    const set: LockRow[] = [];
    for (const entry of this.#entries.values()) if (entry.version > version) set.push(entry.row);
    const gone: string[] = [];
    for (const [key, at] of this.#gone) if (at > version) gone.push(key);
    return { set, gone };
  }

  /** The key was taken from this holder just now. That it is gone is seen later, and tells nothing new of it. */
  force(key: string, id: string, now: number): void {
    const entry = this.#entries.get(key);
    if (entry?.row.id === id) this.history.add({ ...this.#ended(entry, now), to: now, end: 'forced' });
  }

  #see(lock: LockEntry, page: SeenPage, now: number): void {
    const { key } = lock;
    const old = this.#entries.get(key);
    this.#gone.delete(key);
    // The token may rise under a holder: another's attempt on a minority of the nodes has raised it there.
    const owner = lock.owner ?? String(lock.fencingToken);
    const leftMs = lock.remainingMs;
    if (old?.owner !== owner) {
      if (old) this.history.add(this.#ended(old, now));
      const row = toRow(lock, holderId(owner), page.askedAt);
      // A listing may miss a key for once; whoever is here again was never gone.
      this.history.retract(row);
      this.#entries.set(key, { row, owner, version: this.#version, leftMs });
      return;
    }
    const row = merge(old.row, toRow(lock, old.row.id, page.askedAt), SLACK_MS + page.answeredAt - page.askedAt);
    const version = isSame(old.row, row) ? old.version : this.#version;
    this.#entries.set(key, { row, owner, version, leftMs });
  }

  #ended({ row, leftMs }: Entry, now: number): Hold {
    const { key, pod, pid, token, since, endsAt, leaseMs } = row;
    const ranOut = endsAt !== undefined && endsAt <= now && leaseMs !== undefined && (leftMs ?? 0) < LATE * leaseMs;
    const end: HoldEnd = ranOut && !row.kept ? 'expired' : 'ended';
    const to = ranOut ? endsAt : now;
    return { key, ...known({ pod, pid, token, from: since }), to, end };
  }

  #bury(key: string): void {
    this.#gone.set(key, this.#version);
    if (this.#gone.size <= MOST_GONE) return;
    const [oldest, version] = this.#gone.entries().next().value!;
    this.#gone.delete(oldest);
    this.#horizon = version;
  }
}

function toRow(lock: LockEntry, id: string, at: number): LockRow {
  const { key, owner, pod, pid, since, remainingMs, fencingToken, waiters, nodes, released } = lock;
  return {
    key,
    id,
    ...known({
      pod: pod ?? owner?.slice(0, LONGEST_HOLDER),
      pid,
      since: since?.getTime(),
      endsAt: remainingMs === undefined ? undefined : at + remainingMs,
      leaseMs: remainingMs,
      token: fencingToken,
      waiters,
      nodes: nodes && ([nodes.holding, nodes.answering, nodes.all] as const),
      kept: released,
    }),
  };
}

/** Tells holders apart, also in another process, and names none of them. */
export function holderId(owner: string): string {
  return hash('sha256', owner, 'base64url').slice(0, ID_LENGTH);
}

/** The same holder, seen again. */
function merge(old: LockRow, row: LockRow, slackMs: number): LockRow {
  const { endsAt: before, leaseMs = 0, renewed } = old;
  const { endsAt: after } = row;
  if (before === undefined || after === undefined) return row;
  const isRenewed = after > before + slackMs;
  return {
    ...row,
    endsAt: Math.abs(after - before) > slackMs ? after : before,
    leaseMs: Math.max(leaseMs, row.leaseMs ?? 0),
    ...(renewed || (isRenewed && !row.kept) ? { renewed: true } : {}),
  };
}

function isSame(one: LockRow, other: LockRow): boolean {
  return (
    one.endsAt === other.endsAt &&
    one.leaseMs === other.leaseMs &&
    one.renewed === other.renewed &&
    one.token === other.token &&
    one.waiters === other.waiters &&
    one.kept === other.kept &&
    String(one.nodes) === String(other.nodes)
  );
}

/** Without what is not known. */
function known<T extends object>(values: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}
