import { LockOptionsError } from '../../errors.js';
import type { KeyPage, KeyQuery, KeyState } from '../lock-store.js';
import { lockId, readable, type AdvisoryId } from './lock-id.js';
import { toLockState } from './lock-row.js';
import { LIST } from './look-statements.js';
import type { Row } from './pg-client.js';
import type { Statement } from './session.js';

type Ask = (statement: Statement, values: readonly unknown[]) => Promise<readonly Row[]>;

const BEFORE_ALL = (-(2n ** 63n)).toString();
const CURSOR = /^-?\d{1,19}$/;
/** Then the page ends, however little was found. */
const MOST_QUESTIONS = 20;

/** The keys that are taken, in the order of their ids, the last of which is the cursor. `remainingMs` knows of the locks of this process. */
export async function listKeys(
  { prefix, limit, cursor = BEFORE_ALL }: KeyQuery,
  ask: Ask,
  remainingMs: (key: string) => number | undefined,
): Promise<KeyPage> {
  const keys: KeyState[] = [];
  let after = checkedCursor(cursor);
  for (let asked = 0; asked < MOST_QUESTIONS; asked++) {
    const room = limit - keys.length;
    const rows = await ask(LIST, [after, readable(prefix), room]);
    const found = rows.filter((row) => row['id'] != null);
    for (const row of found) {
      const key = exactKey(row['key']!, row['id']!);
      if (key.startsWith(prefix)) keys.push({ key, ...toLockState(row, remainingMs(key)) });
    }
    const isFull = found.length === room;
    const { last = null, more } = rows[0] ?? {};
    if (!isFull && more !== 't') return { keys };
    after = (isFull ? found.at(-1)!['id'] : last)!;
    if (keys.length === limit) break;
  }
  return { keys, cursor: after };
}

/** @throws LockOptionsError */
function checkedCursor(cursor: string): AdvisoryId {
  if (CURSOR.test(cursor) && BigInt.asIntN(64, BigInt(cursor)).toString() === cursor) return cursor;
  throw new LockOptionsError('cursor', cursor, 'give the cursor of the page before.');
}

/** The key as it is, where the table shows it in other words. */
function exactKey(shown: string, id: AdvisoryId): string {
  const raw = shown.replace(/\\u([0-9a-f]{4})/g, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)));
  return raw !== shown && lockId(raw).lock === id ? raw : shown;
}
