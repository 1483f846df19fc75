import { LockOptionsError } from './errors.js';

/** Keys are stored in Redis key names and hashed for Postgres; longer ones are usually a value put in by mistake. */
export const LONGEST_KEY_BYTES = 512;
const LONGEST_CHARACTER_BYTES = 3;
const MOST_KEYS = 100;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * The keys of one lock: checked, sorted, each once. Sorted, so that every process asks for them in the same order.
 * @throws LockOptionsError for a key that is empty, no text, over 512 bytes or not valid Unicode; for no key, or over 100.
 */
export function toKeys(keys: string | readonly string[]): readonly [string, ...string[]] {
  if (typeof keys === 'string') return [checked(keys)];
  if (!Array.isArray(keys)) throw new LockOptionsError('lock key', keys, 'give a string or an array of strings.');
  if (keys.length === 0) throw new LockOptionsError('lock keys', keys, 'the list is empty; give at least one key.');
  const unique = new Set<string>();
  // A list may come from a request: it is not gone through to its end for nothing.
  for (const key of keys) {
    unique.add(checked(key));
    if (unique.size <= MOST_KEYS) continue;
    throw new LockOptionsError('lock keys', `list of ${keys.length}`, `at most ${MOST_KEYS} can be locked together.`);
  }
  return [...unique].sort() as [string, ...string[]];
}

/** Two different lone surrogates become the same bytes in UTF-8, and so the same lock. */
export function isValidUnicode(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

function checked(key: unknown): string {
  if (typeof key !== 'string') throw new LockOptionsError('lock key', key, 'give a non-empty string.');
  if (key === '') throw new LockOptionsError('lock key', key, 'it is empty; give a non-empty string.');
  const mayBeLong = key.length * LONGEST_CHARACTER_BYTES > LONGEST_KEY_BYTES;
  if (key.length > LONGEST_KEY_BYTES || (mayBeLong && Buffer.byteLength(key) > LONGEST_KEY_BYTES)) {
    throw new LockOptionsError('lock key', key, `it is over ${LONGEST_KEY_BYTES} bytes of UTF-8; hash the long part.`);
  }
  if (!isValidUnicode(key)) throw new LockOptionsError('lock key', key, 'it is not valid Unicode.');
  return key;
}
