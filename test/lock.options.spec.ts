import { describe, expect, it } from '@jest/globals';
import { LockOptionsError } from '../lib/errors.js';
import { toTerms, type WithLockOptions } from '../lib/lock.options.js';

describe('toTerms', () => {
  it('has a default for everything', () => {
    expect(toTerms(undefined)).toEqual({
      ttlMs: 30_000,
      autoRenew: true,
      waitMs: 0,
      minHoldMs: 0,
      maxHoldMs: Number.POSITIVE_INFINITY,
      reentrant: false,
      onLost: 'throw',
      signal: undefined,
    });
    expect(toTerms({})).toEqual(toTerms(undefined));
  });

  it('reads each option', () => {
    const { signal } = new AbortController();
    const options: WithLockOptions = {
      ttl: 10,
      autoRenew: false,
      wait: '5s',
      minHold: '1m',
      maxHold: '2h',
      reentrant: true,
      onLost: 'ignore',
      signal,
      label: 'x'.repeat(128),
    };
    expect(toTerms(options)).toEqual({
      ttlMs: 10_000,
      autoRenew: false,
      waitMs: 5000,
      minHoldMs: 60_000,
      maxHoldMs: 7_200_000,
      reentrant: true,
      onLost: 'ignore',
      signal,
      label: 'x'.repeat(128),
    });
  });

  it('falls back to the defaults given, option by option', () => {
    const defaults = toTerms({ ttl: 10, wait: '5s', autoRenew: false });
    expect(toTerms({ wait: 0 }, defaults)).toMatchObject({ ttlMs: 10_000, waitMs: 0, autoRenew: false });
    expect(toTerms(undefined, defaults)).toEqual(defaults);
  });

  it.each([
    [0.5, 500],
    [0.01, 10],
    ['30d', 2_592_000_000],
  ])('takes a ttl of %p', (ttl, ttlMs) => {
    expect(toTerms({ ttl }).ttlMs).toBe(ttlMs);
  });

  it.each([
    [0],
    [-1],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [0.0001],
    ['9ms'],
    ['30'],
    ['soon'],
    ['-5s'],
    ['500d'],
    [null],
  ])('refuses a ttl of %p', (ttl) => {
    expect(() => toTerms({ ttl: ttl as number })).toThrow(LockOptionsError);
  });

  it.each<[string, object]>([
    ['a negative wait', { wait: -1 }],
    ['a wait without a unit', { wait: '5' }],
    ['an endless wait', { wait: Number.POSITIVE_INFINITY }],
    ['a negative minHold', { minHold: '-1s' }],
    ['a maxHold of nothing', { maxHold: 0 }],
    ['an autoRenew that is no boolean', { autoRenew: 'yes' }],
    ['a reentrant that is no boolean', { reentrant: 1 }],
    ['an unknown onLost', { onLost: 'retry' }],
    ['a signal that is none', { signal: {} }],
    ['a controller in place of its signal', { signal: new AbortController() }],
    ['an empty label', { label: '' }],
    ['a label that is none', { label: 7 }],
    ['a label that is too long', { label: 'x'.repeat(129) }],
    ['an option that does not exist', { tll: 30 }],
  ])('refuses %s', (_description, options) => {
    expect(() => toTerms(options)).toThrow(LockOptionsError);
  });

  it.each([[null], [30], ['30s'], [true]])('refuses options that are %p', (options) => {
    expect(() => toTerms(options as unknown as WithLockOptions)).toThrow(LockOptionsError);
  });

  it('names the option, the value and the remedy', () => {
    expect(() => toTerms({ tll: 30 } as WithLockOptions)).toThrow(/"tll".*ttl, autoRenew/);
    expect(() => toTerms({ ttl: '30' })).toThrow(/ttl "30".*with a unit/);
  });
});
