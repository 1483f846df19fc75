import { describe, expect, it } from '@jest/globals';
import { LONGEST_MS, toMs, type Duration } from '../lib/duration.js';
import { LockOptionsError } from '../lib/errors.js';

describe('toMs', () => {
  it.each<[Duration, number]>([
    [30, 30_000],
    [0.5, 500],
    [1.1, 1100],
    [0, 0],
    ['500ms', 500],
    ['5s', 5000],
    ['5 s', 5000],
    ['1.5s', 1500],
    ['.5s', 500],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['30d', 2_592_000_000],
    ['1 minute', 60_000],
  ])('reads %p as %d ms', (value, ms) => {
    expect(toMs('ttl', value)).toBe(ms);
  });

  it('rounds up to whole ms, so that nothing positive becomes nothing', () => {
    expect(toMs('wait', 0.0001)).toBe(1);
    expect(toMs('wait', '0.2ms')).toBe(1);
  });

  it.each([
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [Number.NEGATIVE_INFINITY],
    [-1],
    ['-5s'],
    ['30'],
    [''],
    [' '],
    ['s'],
    ['five seconds'],
    ['5 parsecs'],
    ['5s5s'],
    ['1e3s'],
    ['Infinity s'],
    ['5s'.padStart(200)],
    [null],
    [true],
    [{}],
    [[5]],
    [5n],
    [new Date()],
  ])('refuses %p', (value) => {
    expect(() => toMs('ttl', value as Duration)).toThrow(LockOptionsError);
  });

  it('takes the least and the longest duration, and nothing beyond them', () => {
    expect(toMs('ttl', '10ms', 10)).toBe(10);
    expect(() => toMs('ttl', '9ms', 10)).toThrow(LockOptionsError);
    expect(toMs('ttl', LONGEST_MS / 1000)).toBe(LONGEST_MS);
    expect(() => toMs('ttl', LONGEST_MS / 1000 + 1)).toThrow(LockOptionsError);
  });

  it('says which option it was, what was given, and how to give it', () => {
    expect(() => toMs('minHold', '30')).toThrow(/minHold "30".*seconds as a number.*'500ms'/);
  });
});
