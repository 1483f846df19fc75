import ms from 'ms';
import { LockOptionsError } from './errors.js';

/** A number is seconds; a string carries its unit: `'500ms'`, `'5s'`, `'10m'`. */
export type Duration = number | string;

const DAY_MS = 86_400_000;

/** The longest duration taken anywhere: a longer one is a mistake in the unit. */
export const LONGEST_MS = 366 * DAY_MS;

const LONGEST_TEXT = 100;

const HOW = "give seconds as a number (30) or text with a unit ('500ms', '5s', '10m')";
const WITH_UNIT = /^\s*(?:\d+(?:\.\d+)?|\.\d+)\s*[a-z]+\s*$/i;

/**
 * A duration in whole ms, rounded up.
 * @throws LockOptionsError when it is not a duration, or below `leastMs`, or above 366 days.
 */
export function toMs(option: string, value: Duration, leastMs = 0): number {
  const exact = typeof value === 'number' ? value * 1000 : parse(value);
  if (!Number.isFinite(exact)) throw new LockOptionsError(option, value, `${HOW}.`);
  if (exact < leastMs || exact > LONGEST_MS) {
    throw new LockOptionsError(option, value, `it must be from ${leastMs} ms to ${LONGEST_MS / DAY_MS} days; ${HOW}.`);
  }
  // 1.1 s is 1100.0000000000002 ms in floating point.
  return Math.ceil(Number(exact.toFixed(6)));
}

function parse(value: unknown): number {
  // `ms` would read a bare '30' as milliseconds, where the number 30 means seconds.
  if (typeof value !== 'string' || value.length > LONGEST_TEXT || !WITH_UNIT.test(value)) return Number.NaN;
  return ms(value.trim() as ms.StringValue) ?? Number.NaN;
}
