import type { Scale } from './scale.js';

/** Lets all begin at once where no figure counts, and one after the other, as they are called for, where figures do. */
export function headStart<E, T>(
  entrants: readonly E[],
  work: (entrant: E) => Promise<T>,
  { operations }: Pick<Scale, 'operations'>,
): (entrant: E) => Promise<T> {
  if (operations >= 1) return work;
  const begun = new Map(entrants.map((entrant) => [entrant, work(entrant)]));
  for (const outcome of begun.values()) outcome.catch(() => undefined); // whoever calls for it hears of it
  return (entrant) => begun.get(entrant)!;
}
