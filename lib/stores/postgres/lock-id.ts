import { hash } from 'node:crypto';

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

/** One digest for both: it is computed several times for each lock. */
export function lockId(key: string): LockId {
  const digest = digestOf('lock', key);
  return { lock: signed64(digest, 0), waiters: signed64(digest, 1) };
}

function advisoryId(use: string, key: string): AdvisoryId {
  return signed64(digestOf(use, key), 0);
}

function digestOf(use: string, key: string): string {
  const prefix = `nestjs-fenced-lock:${use}:`;
  return hash(
    'sha256',
    LONE_SURROGATE.test(key) ? Buffer.concat([Buffer.from(prefix), exactBytes(key)]) : prefix + key,
  );
}

/** The 64 bits of a hexadecimal text that stand in this place. */
function signed64(hex: string, place: number): string {
  return BigInt.asIntN(64, BigInt(`0x${hex.slice(place * 16, (place + 1) * 16)}`)).toString();
}

/** UTF-8 would make all lone surrogates the same; 0xff begins no UTF-8 text. */
function exactBytes(key: string): Buffer {
  return Buffer.concat([Buffer.of(0xff), Buffer.from(key, 'utf16le')]);
}

/** The key as people read it in the table. Postgres text takes neither U+0000 nor lone surrogates; what is exact is the id. */
export function readable(key: string): string {
  return key.replace(/[\u0000\p{Surrogate}]/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
