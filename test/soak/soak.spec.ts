import { describe, expect, it } from '@jest/globals';
import { Audit, type Hold } from './audit.js';
import { soak } from './soak-run.js';

describe('Three processes on three real nodes that crash, come back empty and hang', () => {
  it('never hold a key together, and get strictly rising tokens', async () => {
    const { violations, holdsEach, faults } = await soak(15_000, 1);
    expect(violations).toEqual([]);
    for (const holds of holdsEach) expect(holds).toBeGreaterThan(5);
    expect(faults.restart + faults.freeze).toBeGreaterThan(2);
  }, 120_000);
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
