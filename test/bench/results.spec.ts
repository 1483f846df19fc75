import { describe, expect, it } from '@jest/globals';
import { readResults, resultsText, type Results } from '../../bench/results.js';
import { row, table } from './fixtures.js';

describe('the kept figures', () => {
  it('are read as they were written, to five digits', () => {
    const kept = (ratio: number): Results => ({
      one: { run: 'a run, `quoted "so"`', table: table([row('a', 'ours', { ratio, range: [1, 2], none: null })]) },
      two: { run: 'another', table: table([]) },
    });
    expect(JSON.parse(resultsText(kept(1.23456789)))).toEqual(kept(1.2346));
    expect(JSON.parse(resultsText({}))).toEqual({});
  });

  it('are written as they were read', () => {
    const results = readResults();
    expect(JSON.parse(resultsText(results))).toEqual(results);
  });
});
