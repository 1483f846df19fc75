import type { LockRow } from '../../protocol.js';
import type { Model } from './model.js';

/** Which locks the table shows, and in which order. */
export function createListing(model: Pick<Model, 'rows' | 'state' | 'condition' | 'leftMs'>) {
  const choice = {
    query: '',
    filter: 'all' as 'all' | 'late' | 'waited' | 'own',
    column: 'key' as 'key' | 'holder' | 'held' | 'left' | 'token' | 'waiters',
    descending: false,
  };

  const FILTERS: Readonly<Record<typeof choice.filter, (row: LockRow) => boolean>> = {
    all: () => true,
    late: (row) => model.condition(row) !== 'well',
    waited: ({ waiters }) => (waiters ?? 0) > 0,
    own: ({ pod, pid }) => pod === model.state.about?.pod && pid === model.state.about?.pid,
  };

  /** What is not known comes last, whichever way it is sorted. */
  const VALUES: Readonly<Record<typeof choice.column, (row: LockRow) => string | number | undefined>> = {
    key: ({ key }) => key,
    holder: ({ pod, pid }) => (pod === undefined ? undefined : `${pod} ${pid ?? ''}`),
    held: ({ since }) => (since === undefined ? undefined : -since),
    left: ({ endsAt }) => endsAt,
    token: ({ token }) => token,
    waiters: ({ waiters }) => waiters,
  };

  function matches({ key, pod }: LockRow, query: string): boolean {
    return query === '' || key.toLowerCase().includes(query) || (pod ?? '').toLowerCase().includes(query);
  }

  function compare(one: string | number | undefined, other: string | number | undefined): number {
    if (one === other) return 0;
    if (one === undefined) return 1;
    if (other === undefined) return -1;
    return (one < other ? -1 : 1) * (choice.descending ? -1 : 1);
  }

  function keys(): string[] {
    const query = choice.query.trim().toLowerCase();
    const accept = FILTERS[choice.filter];
    const value = VALUES[choice.column];
    const found: { key: string; value: string | number | undefined }[] = [];
    for (const row of model.rows.values()) {
      if (accept(row) && matches(row, query)) found.push({ key: row.key, value: value(row) });
    }
    found.sort((one, other) => compare(one.value, other.value) || (one.key < other.key ? -1 : 1));
    return found.map(({ key }) => key);
  }

  return { choice, keys };
}

export type Listing = ReturnType<typeof createListing>;
