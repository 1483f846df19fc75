import { Hold } from './hold.js';
import type { MutexTerms, Operation } from './operation.js';

/**
 * Whether a history can be that of a fenced mutex with leases: one that at each moment has one holder or none, gives each a higher token than the one before,
 * and frees the key on the holder's release or when the lease is over. Each operation must have happened at some moment between its call and its answer.
 *
 * To find such moments is hard for a mutex in general. With tokens it is not: they say in which order the holders came, so it is enough to let each begin and end
 * as early as it can, and to see whether the next still began in time.
 *
 * @returns what is wrong; empty for a history that can be.
 */
export function violations(history: readonly Operation[], terms: MutexTerms): string[] {
  const byKey = new Map<string, Operation[]>();
  for (const operation of history) {
    const operations = byKey.get(operation.key);
    if (operations) operations.push(operation);
    else byKey.set(operation.key, [operation]);
  }
  return [...byKey.values()].flatMap((operations) => ofOneKey(operations, terms));
}

function ofOneKey(operations: readonly Operation[], terms: MutexTerms): string[] {
  const inOrder = [...operations].sort((a, b) => a.invokedAt - b.invokedAt);
  const holds = new Map<string, Hold>();
  const found: string[] = [];
  for (const operation of inOrder) {
    const { what, outcome, attempt, process, key } = operation;
    if (what === 'acquire') {
      if (outcome === 'ok') holds.set(attempt, new Hold(operation, terms));
      continue;
    }
    const hold = holds.get(attempt);
    if (hold) hold.add(operation);
    else if (outcome === 'ok') found.push(`${what} accepted from ${process}, which was not granted ${key}`);
  }
  const byToken = [...holds.values()].sort((a, b) => a.token - b.token);
  return [
    ...found,
    ...byToken.flatMap((hold) => hold.check()),
    ...outOfTurn(byToken),
    ...needless(inOrder, holds, terms),
  ];
}

/** In the order of their tokens: each begins as soon as it has asked and the one before is gone, and ends as soon as it may. */
function outOfTurn(byToken: readonly Hold[]): string[] {
  const found: string[] = [];
  let freeFrom = Number.NEGATIVE_INFINITY;
  let before: Hold | undefined;
  for (const hold of byToken) {
    const began = Math.max(hold.from, freeFrom);
    if (before && hold.token === before.token) found.push(`token repeated: ${String(before)}; ${String(hold)}`);
    else if (began > hold.until) {
      const backwards = before && hold.until < before.from;
      found.push(`${backwards ? 'token backwards' : 'two holders'}: ${String(before)}; ${String(hold)}`);
    }
    const ended = Math.max(began, hold.heldUntil);
    // One contradiction must not make everything after it look wrong.
    if (ended >= freeFrom) before = hold;
    freeFrom = Math.max(freeFrom, ended);
  }
  return found;
}

interface Span {
  readonly attempt: string;
  readonly from: number;
  readonly until: number;
}

/** Who is refused must have met someone: a holder, what a dead or unheard one left for its ttl, or somebody who asked at the same time. */
function needless(inOrder: readonly Operation[], holds: ReadonlyMap<string, Hold>, terms: MutexTerms): string[] {
  const acquires = inOrder.filter(({ what }) => what === 'acquire');
  const spans = acquires.map((each) => spanOf(each, holds, terms)); // sorted by their beginning, as the operations are
  // Of the spans up to each index, the two that last longest: one of them may be the refused one's own.
  const longest: [Span | undefined, Span | undefined][] = [];
  let [first, second]: [Span | undefined, Span | undefined] = [undefined, undefined];
  for (const span of spans) {
    if (!first || span.until > first.until) [first, second] = [span, first];
    else if (!second || span.until > second.until) second = span;
    longest.push([first, second]);
  }
  const found: string[] = [];
  for (const { outcome, attempt, process, key, invokedAt, answeredAt } of acquires) {
    if (outcome !== 'no') continue;
    const begun = countUpTo(spans, answeredAt);
    const other = (longest[begun - 1] ?? []).find((span) => span && span.attempt !== attempt);
    if (other && other.until >= invokedAt) continue;
    found.push(
      `${process} was refused ${key} while nobody had it (${invokedAt.toFixed(1)} to ${answeredAt.toFixed(1)})`,
    );
  }
  return found;
}

/** From when to when an attempt can have been in the way of others. */
function spanOf(
  { attempt, outcome, invokedAt, answeredAt, ttlMs }: Operation,
  holds: ReadonlyMap<string, Hold>,
  terms: MutexTerms,
): Span {
  const later = outcome === 'unknown' ? ttlMs : 0;
  const until = holds.get(attempt)?.mayBlockUntil ?? answeredAt + later + terms.freedAfterMs;
  return { attempt, from: invokedAt, until };
}

function countUpTo(spans: readonly Span[], at: number): number {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle]!.from <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
