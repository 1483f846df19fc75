import { describe, expect, it } from '@jest/globals';
import { Audit, type Hold } from './audit.js';
import type { Sample } from './census.js';
import { growths } from './flatness.js';
import { STORES } from './places.js';
import { soak } from './soak-run.js';

describe('Contenders on a store whose servers crash and hang, and that hang themselves', () => {
  it.each(STORES)(
    'never hold a key together, get rising tokens, and leave nothing behind: %s',
    async (name) => {
      const { violations, holdsEach, faults } = await soak(name, 8000, 1);
      expect(violations).toEqual([]);
      for (const holds of holdsEach) expect(holds).toBeGreaterThan(3);
      expect([...faults.values()].reduce((sum, times) => sum + times, 0)).toBeGreaterThan(1);
    },
    180_000,
  );
});

describe('What grows in a soak', () => {
  const sample = (heapMb: number, listeners = 30, resources = 10): Sample => ({
    ...{ heapBytes: heapMb * 1e6, listeners, resources },
  });
  const through = (value: (index: number) => Sample): string[] =>
    growths(Array.from({ length: 40 }, (_, i) => value(i)));

  it('is told of where it grows on and on', () => {
    expect(through((index) => sample(20 + index)).join()).toContain('heapBytes grew');
    expect(through((index) => sample(20, 30 + 2 * index)).join()).toContain('listeners grew');
    expect(through((index) => sample(20, 30, 10 + 2 * index)).join()).toContain('resources grew');
  });

  it('is not where it goes up and down, or is warmed up at first', () => {
    expect(through((index) => sample(20 + (index % 5) * 10, 30 + (index % 3) * 100))).toEqual([]);
    expect(through((index) => sample(Math.min(60, 20 + 5 * index)))).toEqual([]);
  });
});

describe('The audit of that soak', () => {
  const hold = (token: number, startedAt: number, heldUntil: number): Hold => ({
    ...{ keys: ['a'], token, startedAt, grantedAt: startedAt + 1, heldUntil, counted: ['a'] },
  });
  const audited = (holds: Hold[], counter = holds.length): string[] => {
    const audit = new Audit();
    for (const each of holds) audit.add(each);
    return audit.violations(new Map([['a', counter]]));
  };

  it('has nothing against holds one after the other', () => {
    // The second asked while the first still held.
    expect(audited([hold(7, 0, 2), hold(8, 1.5, 5), hold(12, 6, 9)])).toEqual([]);
  });

  it.each([
    ['two holders', [hold(1, 0, 5), hold(2, 3, 9)], 2],
    ['two holders', [hold(1, 0, 90), hold(2, 100, 101), hold(3, 50, 60)], 3],
    ['equal tokens', [hold(1, 0, 1), hold(1, 0.5, 9)], 2],
    ['not above', [hold(2, 0, 5), hold(1, 6, 9)], 2],
    ['not above', [hold(2, 0, 5), hold(3, 6, 9), hold(2, 12, 15)], 3],
    ['raises left the counter', [hold(1, 0, 5), hold(2, 6, 9)], 1],
  ])('finds %s', (what, holds, counter) => {
    expect(audited(holds, counter).join('\n')).toContain(what);
  });
});
