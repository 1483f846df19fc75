import { describe, expect, it } from '@jest/globals';
import { createText } from '../../../../lib/dashboard/page/client/text.js';

const text = createText();

describe('The page says', () => {
  it.each([
    [-5, '0 ms'],
    [850.4, '850 ms'],
    [1000, '1 s'],
    [59_999, '59 s'],
    [60_000, '1 m'],
    [250_000, '4 m 10 s'],
    [11_520_000, '3 h 12 m'],
    [450_000_000, '5 d 5 h'],
  ])('%i ms as %s', (ms, words) => {
    expect(text.duration(ms)).toBe(words);
  });

  it('a process by its pod and id, as far as they are known', () => {
    expect([text.holder({ pod: 'p', pid: 1 }), text.holder({ pod: 'p' }), text.holder({})]).toEqual([
      'p (1)',
      'p',
      'unknown',
    ]);
  });

  it('how a hold ended, and why', () => {
    expect(text.end({ end: 'expired' })).toBe('ran out: not renewed in time');
    expect(text.end({ end: 'lost', reason: 'taken' })).toBe('lost: the store no longer had it');
    expect(text.end({ end: 'forced', reason: 'taken' })).toBe('released by force');
  });

  it('times of day with two digits each', () => {
    expect(text.time(new Date(2026, 0, 2, 3, 4, 5).getTime())).toBe('03:04:05');
    expect(text.dateTime(new Date(2026, 0, 2, 3, 4, 5).getTime())).toBe('2026-01-02 03:04:05');
  });

  it('one of a thing, and several', () => {
    expect([text.count(1, 'lock', 'locks'), text.count(10_000, 'lock', 'locks')]).toEqual(['1 lock', '10,000 locks']);
  });
});
