import { LockOptionsError } from './errors.js';
import { isValidUnicode } from './lock-key.js';
import { readOwner } from './owner.js';
import type { KeyQuery, LockState } from './stores/lock-store.js';

/** What is known of a key at one moment, for people: decide by nothing of it whether to write. */
export interface LockInfo extends LockState {
  /** The host name of its holder's process; on Kubernetes that of the pod. */
  readonly pod?: string;
  readonly pid?: number;
  /**
   * Since when it is held, by the holder's own clock: when it last asked before it got it. Who stood in line got it up to a second later. Of several keys together: when
   * all were asked for.
   */
  readonly since?: Date;
}

export interface LockEntry extends LockInfo {
  readonly key: string;
}

/** A part of what `locks.list()` finds. */
export interface LockPage {
  /** In no order. `locked` is false for what only a minority of several nodes has. */
  readonly locks: readonly LockEntry[];
  /** For the next page. Without it this was the last; with it, the page may still be short, or empty. */
  readonly cursor?: string;
}

/** Which locks to list. */
export interface LockQuery {
  /** What their keys begin with, exactly: it is no pattern. Default: all. */
  readonly prefix?: string;
  /** How many at most, from 1 to 1000. Default 100. */
  readonly limit?: number;
  /** That of the page before. */
  readonly cursor?: string;
}

const KNOWN = ['prefix', 'limit', 'cursor'];
const DEFAULT_LIMIT = 100;
const HIGHEST_LIMIT = 1000;
const LONGEST_PREFIX_BYTES = 512;
const LONGEST_CURSOR = 4096;

export function toInfo<S extends LockState>(state: S): S & LockInfo {
  const name = state.owner === undefined ? undefined : readOwner(state.owner);
  return name ? { ...state, ...name } : state;
}

/** @throws LockOptionsError naming the option, its value and what is accepted. */
export function toKeyQuery(query: LockQuery): KeyQuery {
  if (typeof query !== 'object' || query === null) {
    throw new LockOptionsError('query', query, "give an object such as { prefix: 'job:' }.");
  }
  for (const name of Object.keys(query)) {
    if (!KNOWN.includes(name)) throw new LockOptionsError('query option', name, `known are ${KNOWN.join(', ')}.`);
  }
  const { prefix = '', limit = DEFAULT_LIMIT, cursor } = query;
  if (typeof prefix !== 'string' || Buffer.byteLength(prefix) > LONGEST_PREFIX_BYTES || !isValidUnicode(prefix)) {
    throw new LockOptionsError('prefix', prefix, `give valid Unicode text of at most ${LONGEST_PREFIX_BYTES} bytes.`);
  }
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > HIGHEST_LIMIT) {
    throw new LockOptionsError('limit', limit, `give a whole number from 1 to ${HIGHEST_LIMIT}.`);
  }
  if (cursor === undefined) return { prefix, limit };
  if (typeof cursor !== 'string' || cursor.length > LONGEST_CURSOR) {
    throw new LockOptionsError('cursor', cursor, 'give the cursor of the page before.');
  }
  return { prefix, limit, cursor };
}
