import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { withFigures } from '../../bench/page.js';
import { ADAPTERS, adapterOf } from '../faults/lab/adapters.js';
import { FAULTS, faultOf } from '../faults/lab/faults.js';
import { chartsOf, figuresOf } from '../faults/lab/page.js';
import { plan, readResults, violationsOf } from '../faults/lab/results.js';
import { root } from './compiler.js';
import { codeBlocks, tables } from './markdown.js';

const page = readFileSync(join(root, 'docs/reliability.md'), 'utf8');
const charts = join(root, 'docs/reliability');
const results = readResults();

describe('docs/reliability.md', () => {
  it('says between its marks what one run found, and nothing written by hand', () => {
    expect(page).toBe(withFigures(page, figuresOf(results)));
    expect(results.run).toMatch(/^\d{4}-\d\d-\d\d, `npm run faults -- --peers --write`, .*Node .*Redis .*PostgreSQL/);
  });

  it('shows the charts as they are drawn from the figures', () => {
    const drawn = chartsOf(results);
    expect(readdirSync(charts).sort()).toEqual(Object.keys(drawn).sort());
    for (const [file, svg] of Object.entries(drawn)) {
      expect({ file, svg: readFileSync(join(charts, file), 'utf8') }).toEqual({ file, svg });
      expect(page).toContain(`](reliability/${file})`);
    }
  });

  it('has each cell once, and says of which faults it lacks some', () => {
    const wanted = plan(FAULTS, ADAPTERS).map(([fault, adapter]) => `${fault.id} × ${adapter.id}`);
    const had = results.results.map(({ fault, adapter }) => `${fault} × ${adapter}`);
    expect(new Set(had).size).toBe(had.length);
    expect(had.filter((cell) => !wanted.includes(cell))).toEqual([]);
    const [lacking = ''] = /^It was stopped: .*$/m.exec(page) ?? [];
    const faults = new Set(wanted.filter((cell) => !had.includes(cell)).map((cell) => cell.split(' × ')[0]!));
    expect([...lacking.matchAll(/`([^`]+)`/g)].map(([, fault]) => fault)).toEqual([...faults]);
  });

  it('names each row and column as the command knows it', () => {
    const matrices = tables(page).filter(({ head }) => head[0] === '');
    expect(matrices).toHaveLength(2);
    const named = (cell: string): string => /`([^`]+)`$/.exec(cell)![1]!;
    for (const { head, rows } of matrices) {
      for (const cell of head.slice(1)) expect(adapterOf(named(cell))).toBeDefined();
      for (const [cell] of rows) expect(faultOf(named(cell!))).toBeDefined();
    }
    for (const { code } of codeBlocks(page, 'sh')) {
      for (const [, word] of code.matchAll(/--only (\S+)/g)) expect(faultOf(word!)).toBeDefined();
      for (const [, word] of code.matchAll(/--with (\S+)/g)) expect(adapterOf(word!)).toBeDefined();
    }
  });

  it('shows a run in which ours kept every promise, and each that is broken on purpose was caught', () => {
    for (const result of results.results) {
      const { role } = adapterOf(result.adapter);
      if (role === 'ours') expect({ ...result, broken: violationsOf(result) }).toMatchObject({ broken: [] });
      if (role === 'broken' || role === 'control') expect(violationsOf(result)).not.toEqual([]);
    }
  });
});
