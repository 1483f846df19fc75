import { createHash } from 'node:crypto';

/** What an advisory lock is taken on, as the decimal text of a signed 64-bit number: a JavaScript number cannot hold it. */
export type AdvisoryId = string;

/** The ids of one key. Two keys share one by chance only (2⁻⁶⁴), and then exclude each other. */
export interface LockId {
  /** Held by the owner of the key. */
  readonly lock: AdvisoryId;
  /** Shared by the sessions that wait for it. */
  readonly waiters: AdvisoryId;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Held, shared, once for each lock that only Postgres has; no change of authority to Redis while anyone does. */
export const ALONE = advisoryId('alone', '');
/** Held while the tables are made: two sessions at it fail each other, in spite of `if not exists`. */
export const MAKING_TABLES = advisoryId('tables', '');
/** Held while old rows are looked for. */
export const CLEANING = advisoryId('cleaning', '');

export function lockId(key: string): LockId {
  return { lock: advisoryId('lock', key), waiters: advisoryId('waiters', key) };
}

function advisoryId(use: string, key: string): AdvisoryId {
  return createHash('sha256')
    .update(`nestjs-fenced-lock:${use}:`)
    .update(exactBytes(key))
    .digest()
    .readBigInt64BE(0)
    .toString();
}

function exactBytes(key: string): Buffer {
  if (!LONE_SURROGATE.test(key)) return Buffer.from(key, 'utf8');
  // UTF-8 would make all lone surrogates the same; 0xff begins no UTF-8 text.
  return Buffer.concat([Buffer.of(0xff), Buffer.from(key, 'utf16le')]);
}

/** The key as people read it in the table. Postgres text takes neither U+0000 nor lone surrogates; what is exact is the id. */
export function readable(key: string): string {
  return key.replace(/[\u0000\p{Surrogate}]/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
