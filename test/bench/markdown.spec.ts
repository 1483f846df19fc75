import { describe, expect, it } from '@jest/globals';
import { figureText, tableText } from '../../bench/markdown.js';
import { row, table } from './fixtures.js';

describe('a figure of the bench', () => {
  it.each([
    [1.004, 2, '1.00'],
    [0.5, undefined, '0.50'],
    [12.34, undefined, '12.3'],
    [123.4, 2, '123'],
    [1234567, undefined, '1,234,567'],
    [0, undefined, '0'],
    ['never', undefined, 'never'],
    [null, undefined, '–'],
    [undefined, undefined, '–'],
  ])('%p with %p digits is printed as %p', (figure, digits, text) => {
    expect(figureText(figure, digits === undefined ? {} : { digits })).toBe(text);
  });

  it('that is a range is printed with both ends', () => {
    expect(figureText([1, 2.5], { digits: 1 })).toBe('1.0 – 2.5');
  });
});

describe('a table of the bench', () => {
  it('has a row for each contender, ours in bold, and names those left out', () => {
    const rows = [row('bare', 'limit', { ratio: 1 }), row('us', 'ours', { ratio: 2 })];
    expect(
      tableText(table(rows, { leftOut: ['them: not installed'] }))
        .split('\n')
        .slice(4),
    ).toEqual([
      '| | time, ratio |',
      '|---|---:|',
      '| bare | 1.00 |',
      '| **us** | 2.00 |',
      '',
      'Left out: them: not installed.',
      '',
    ]);
  });
});
