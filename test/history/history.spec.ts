import { describe, expect, it } from '@jest/globals';
import { record, STORES } from './history-run.js';
import type { Operation } from './operation.js';

const SECONDS = 6;

function count(history: readonly Operation[], what: Operation['what'], outcome: Operation['outcome']): number {
  return history.filter((each) => each.what === what && each.outcome === outcome).length;
}

describe('Three processes that take, renew and release keys, on real servers that hang', () => {
  it.each(STORES)(
    'leave a history that a fenced mutex explains: %s',
    async (name) => {
      const { history, violations, faults } = await record(name, SECONDS * 1000, 1);
      expect(violations).toEqual([]);
      // A history in which nothing happens is easily explained.
      expect(count(history, 'acquire', 'ok')).toBeGreaterThan(20);
      expect(count(history, 'acquire', 'no')).toBeGreaterThan(5);
      expect(count(history, 'renew', 'ok')).toBeGreaterThan(5);
      expect(count(history, 'release', 'ok')).toBeGreaterThan(10);
      expect(faults).toBeGreaterThan(2);
    },
    120_000,
  );

  it('leave one that nothing explains when each locks for itself', async () => {
    const { violations } = await record('none', 2000, 1);
    expect(violations.join('\n')).toContain('two holders');
  }, 60_000);
});
