import { describe, expect, it } from '@jest/globals';
import { toFailoverTerms, type FailoverOptions } from '../../../lib/stores/failover/failover.options.js';

describe('Failover options', () => {
  it('are strict, and patient, unless told otherwise', () => {
    const terms = toFailoverTerms();
    expect(terms).toMatchObject({ available: false, leaseMs: 6000, failoverAfterMs: 4000, returnAfterMs: 10_000 });
    expect(() => terms.onAuthorityChange({ from: undefined, to: 'REDIS', epoch: 1, reason: '' })).not.toThrow();
  });

  it('take durations as numbers of seconds and as text', () => {
    const terms = toFailoverTerms({ policy: 'available', lease: 3, failoverAfter: '500ms', returnAfter: 0 });
    expect(terms).toMatchObject({ available: true, leaseMs: 3000, failoverAfterMs: 500, returnAfterMs: 0 });
  });

  it.each<[string, unknown, RegExp]>([
    ['text', 'strict', /failover "strict".*policy/],
    ['nothing', null, /failover null/],
    ['an unknown name', { leese: 3 }, /"leese".*lease/],
    ['another policy', { policy: 'lax' }, /policy "lax".*'strict' or 'available'/],
    ['a lease too short for three looks', { lease: '299ms' }, /lease.*300/],
    ['a negative time', { failoverAfter: -1 }, /failover\.failoverAfter/],
    ['a listener that is none', { onAuthorityChange: 'x' }, /onAuthorityChange "x".*function/],
  ])('refuse %s, naming it and what is accepted', (_, options, message) => {
    expect(() => toFailoverTerms(options as FailoverOptions)).toThrow(
      expect.objectContaining({ code: 'LOCK_OPTIONS', message: expect.stringMatching(message) }),
    );
  });
});
