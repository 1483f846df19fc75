import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { chartOf } from './chart.js';
import { tableText } from './markdown.js';
import { readResults, type Measured, type Results } from './results.js';
import type { Scenario } from './scenario.js';
import { SCENARIOS } from './scenarios.js';
import { shortText, verdicts } from './target.js';

const PAGE = new URL('../docs/performance.md', import.meta.url);
const CHARTS = new URL('../docs/charts/', import.meta.url);
const START = '<!-- figures -->';
const END = '<!-- /figures -->';

interface Shown extends Measured {
  readonly scenario: Scenario;
}

/** Writes what results.json says into docs/performance.md, between its marks, and into docs/charts/. */
export function writePage(): void {
  const results = readResults();
  const page = readFileSync(PAGE, 'utf8');
  writeFileSync(PAGE, withFigures(page, figuresOf(results)));
  mkdirSync(CHARTS, { recursive: true });
  for (const file of readdirSync(CHARTS)) rmSync(new URL(file, CHARTS));
  for (const [file, svg] of Object.entries(chartsOf(results))) writeFileSync(new URL(file, CHARTS), svg);
}

/** Puts the figures between the marks of the page. */
export function withFigures(page: string, figures: string): string {
  const [start, end] = [page.indexOf(START), page.indexOf(END)];
  if (start < 0 || end < start) throw new Error(`the page has no ${START} … ${END}`);
  return `${page.slice(0, start + START.length)}\n${figures}${page.slice(end)}`;
}

/** What stands between the marks. */
export function figuresOf(results: Results): string {
  const shown = inOrder(results);
  const runs = [...new Set(shown.map(({ run }) => run))];
  return [
    '',
    '## Targets',
    '',
    '| scenario | figure | target | measured | |',
    '|---|---|---:|---:|---|',
    ...shown.flatMap(targetLines),
    '',
    '## Figures',
    '',
    ...runs.map((run) => runLine(run, shown, runs.length > 1)),
    '',
    ...shown.map(({ scenario, table }) => `${tableText(table)}\n![${table.title}](charts/${scenario.name}.svg)\n`),
  ].join('\n');
}

export function chartsOf(results: Results): Record<string, string> {
  return Object.fromEntries(inOrder(results).map(({ scenario, table }) => [`${scenario.name}.svg`, chartOf(table)]));
}

function inOrder(results: Results): Shown[] {
  return SCENARIOS.flatMap((scenario) => {
    const measured = results[scenario.name];
    return measured ? [{ ...measured, scenario }] : [];
  });
}

function targetLines({ scenario, table }: Shown): string[] {
  return verdicts(scenario, table).map(({ what, wanted, measured, met }) => {
    const figure = measured === undefined ? '–' : shortText(measured);
    return `| ${[table.title, what, wanted, figure, met ? 'reached' : '**missed**'].join(' | ')} |`;
  });
}

function runLine(run: string, shown: readonly Shown[], several: boolean): string {
  const titles = shown.filter((each) => each.run === run).map(({ table }) => table.title);
  return several ? `- ${run}: ${titles.join(' · ')}` : `${run}.`;
}
