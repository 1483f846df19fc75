import { LockOptionsError } from '../../errors.js';
import type { KeyPage, KeyQuery, LockStore } from '../lock-store.js';

type Store = Pick<LockStore, 'list' | 'inspect'>;

const CURSOR = /^([pr])(.*)$/s;

/**
 * The keys of Postgres, and then of those on Redis that Postgres does not have; each if it is given. A cursor of a store that no longer is starts the other from its
 * beginning: locks have moved meanwhile.
 */
export async function listBoth(
  { cursor, ...query }: KeyQuery,
  postgres: Store | undefined,
  redis: Store | undefined,
): Promise<KeyPage> {
  const [, on, inner = ''] = cursor === undefined ? [] : (CURSOR.exec(cursor) ?? refuse(cursor));
  const rest = inner === '' ? {} : { cursor: inner };
  if (postgres && !(on === 'r' && redis)) {
    const page = await postgres.list!({ ...query, ...(on === 'p' ? rest : {}) });
    if (page.cursor !== undefined) return { keys: page.keys, cursor: `p${page.cursor}` };
    return redis ? { keys: page.keys, cursor: 'r' } : page;
  }
  const { keys, cursor: next } = await redis!.list!({ ...query, ...(on === 'r' ? rest : {}) });
  const elsewhere = postgres && (await Promise.all(keys.map(({ key }) => postgres.inspect!(key))));
  const own = elsewhere ? keys.filter((_, index) => !elsewhere[index]!.locked) : keys;
  return { keys: own, ...(next === undefined ? {} : { cursor: `r${next}` }) };
}

function refuse(cursor: string): never {
  throw new LockOptionsError('cursor', cursor, 'give the cursor of the page before.');
}
