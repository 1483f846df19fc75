import { describe, expect, it } from '@jest/globals';
import type { Target } from '../../bench/scenario.js';
import { verdicts } from '../../bench/target.js';
import { row, table } from './fixtures.js';

const measured = table([
  row('bare', 'limit', { ratio: 1 }),
  row('us', 'ours', { ratio: 1.2, quartiles: [1, 2], cpu: null }),
  row('slow', 'peer', { ratio: 1.5 }),
  row('quick', 'peer', { ratio: 1.1 }),
]);

function met(target: Partial<Target>, from = measured): boolean[] {
  const targets = [{ row: 'us', column: 'ratio', ...target }];
  return verdicts({ name: 'x', targets, run: () => Promise.reject(new Error('not run')) }, from).map((one) => one.met);
}

describe('a target of a scenario', () => {
  it('is met by a figure at the limit and missed by one beyond it', () => {
    expect([met({ most: 1.2 }), met({ most: 1.19 })]).toEqual([[true], [false]]);
    expect([met({ least: 1.2 }), met({ least: 1.21 })]).toEqual([[true], [false]]);
  });

  it('may be the best peer, which is not the bare commands, and nobody where no peer ran', () => {
    expect(met({ most: 'best peer' })).toEqual([false]);
    const winning = table([
      row('bare', 'limit', { ratio: 1 }),
      row('us', 'ours', { ratio: 1.1 }),
      ...measured.rows.slice(2),
    ]);
    expect(met({ most: 'best peer' }, winning)).toEqual([true]);
    expect(met({ most: 'best peer' }, table(measured.rows.slice(0, 2)))).toEqual([true]);
  });

  it('is missed where its row or figure is missing, or is no number', () => {
    expect(met({ row: 'them', most: 9 })).toEqual([false]);
    expect(met({ column: 'cpu', most: 9 })).toEqual([false]);
    expect(met({ column: 'quartiles', most: 9 })).toEqual([false]);
  });

  it('says which figure it is of, and what was wanted', () => {
    const targets = [{ row: 'us', column: 'ratio', most: 'best peer' as const, least: 0.5 }];
    const [verdict] = verdicts({ name: 'x', targets, run: () => Promise.reject(new Error('not run')) }, measured);
    expect(verdict).toEqual({
      what: 'us: time, ratio',
      wanted: '≤ 1.1 (best peer), ≥ 0.5',
      measured: 1.2,
      met: false,
    });
  });
});
