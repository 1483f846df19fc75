import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { chartsOf, figuresOf, withFigures } from '../../bench/page.js';
import { readResults } from '../../bench/results.js';
import { SCENARIOS } from '../../bench/scenarios.js';
import { verdicts } from '../../bench/target.js';
import { root } from './compiler.js';
import { codeBlocks, tables } from './markdown.js';

const page = readFileSync(join(root, 'docs/performance.md'), 'utf8');
const charts = join(root, 'docs/charts');
const results = readResults();
const names = SCENARIOS.map(({ name }) => name);

describe('docs/performance.md', () => {
  it('says between its marks what bench/results.json says, and nothing written by hand', () => {
    expect(page).toBe(withFigures(page, figuresOf(results)));
  });

  it('has figures of every scenario, and of no other', () => {
    expect(Object.keys(results).sort()).toEqual([...names].sort());
    const shown = tables(page).filter(({ head }) => head[0] === '');
    expect(shown).toHaveLength(names.length);
  });

  it('shows the chart of every scenario, as it is drawn from the figures', () => {
    const drawn = chartsOf(results);
    expect(Object.keys(drawn).sort()).toEqual(names.map((name) => `${name}.svg`).sort());
    expect(existsSync(charts) ? readdirSync(charts).sort() : []).toEqual(Object.keys(drawn).sort());
    for (const [file, svg] of Object.entries(drawn)) {
      expect({ file, svg: readFileSync(join(charts, file), 'utf8') }).toEqual({ file, svg });
      expect(page).toContain(`](charts/${file})`);
    }
  });

  it('holds every target against a figure that was measured', () => {
    const missing = SCENARIOS.flatMap((scenario): string[] => {
      const table = results[scenario.name]?.table;
      if (!table) return [scenario.name];
      return verdicts(scenario, table).flatMap(({ what, measured }) => (measured === undefined ? [what] : []));
    });
    expect(missing).toEqual([]);
  });

  it('names only scenarios there are in its commands', () => {
    const commands = codeBlocks(page, 'sh').flatMap(({ code }) => [...code.matchAll(/--only (\S+)/g)]);
    expect(commands.length).toBeGreaterThan(0);
    const all = SCENARIOS.map(({ name }) => name);
    for (const [, word = ''] of commands) {
      expect({ word, known: all.some((name) => name === word || name.startsWith(`${word}-`)) }).toEqual({
        word,
        known: true,
      });
    }
  });
});
