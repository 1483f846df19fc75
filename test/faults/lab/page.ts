import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { chartOf } from '../../../bench/chart.js';
import { withFigures } from '../../../bench/page.js';
import type { Row, Table } from '../../../bench/table.js';
import { ADAPTERS, adapterOf, type Adapter } from './adapters.js';
import { FAULTS, faultOf } from './faults.js';
import type { Findings } from './findings.js';
import { plan, readResults, violationsOf, type Result, type Results } from './results.js';
import { cellOf } from './words.js';

const PAGE = new URL('../../../docs/reliability.md', import.meta.url);
const CHARTS = new URL('../../../docs/reliability/', import.meta.url);
const COMPARED = ['ours-3', 'redlock', 'sesamecare', 'redis-semaphore', 'redlock-universal'];
const STORES = ['ours-3', 'ours-5', 'ours-1', 'ours-pg', 'ours-fallback'];

/** Writes what results.json says into docs/reliability.md, between its marks, and into docs/reliability/. */
export function writePage(): void {
  const results = readResults();
  writeFileSync(PAGE, withFigures(readFileSync(PAGE, 'utf8'), figuresOf(results)));
  mkdirSync(CHARTS, { recursive: true });
  for (const file of readdirSync(CHARTS)) rmSync(new URL(file, CHARTS));
  for (const [file, svg] of Object.entries(chartsOf(results))) writeFileSync(new URL(file, CHARTS), svg);
}

/** What stands between the marks. */
export function figuresOf({ run, results }: Results): string {
  return [
    '',
    `One run: ${run}.`,
    '',
    ...notRun(results),
    '## Beside other packages, on three nodes',
    '',
    ...matrix(results, COMPARED),
    '',
    ...Object.keys(chartsOf({ run, results })).flatMap((file) => [`![${titleOf(file)}](reliability/${file})`, '']),
    '## On each store',
    '',
    ...matrix(results, STORES),
    '',
    '## Broken on purpose',
    '',
    '| switched off | the lab finds out in | by |',
    '|---|---|---|',
    ...results
      .filter(({ adapter }) => adapterOf(adapter).caughtBy !== undefined)
      .map((result) => {
        const { id, name, role } = adapterOf(result.adapter);
        const seen =
          role === 'control'
            ? cellOf(result.findings, faultOf(result.fault), adapterOf(result.adapter))
            : violationsOf(result).join('; ');
        return `| ${name}<br>\`${id}\` | \`${result.fault}\` | ${seen} |`;
      }),
    '',
  ].join('\n');
}

export function chartsOf({ results }: Results): Record<string, string> {
  return Object.fromEntries(tables(results).map(({ file, table }) => [file, chartOf(table)]));
}

/** A run that was stopped says what it lacks. */
function notRun(results: readonly Result[]): string[] {
  const isDone = (fault: string, adapter: string): boolean =>
    results.some((result) => result.fault === fault && result.adapter === adapter);
  const missing = plan(FAULTS, ADAPTERS).filter(([fault, adapter]) => !isDone(fault.id, adapter.id));
  const faults = [...new Set(missing.map(([{ id }]) => `\`${id}\``))];
  return faults.length === 0 ? [] : [`It was stopped: of ${faults.join(', ')} it has not all cells.`, ''];
}

function matrix(results: readonly Result[], ids: readonly string[]): string[] {
  const adapters = ids.map(adapterOf);
  const shown = FAULTS.filter((fault) => results.some((one) => one.fault === fault.id && ids.includes(one.adapter)));
  return [
    `| | ${adapters.map(({ id, name, role }) => `${role === 'ours' ? `**${name}**` : name}<br>\`${id}\``).join(' | ')} |`,
    `|---|${adapters.map(() => '---|').join('')}`,
    ...shown.map((fault) => {
      const cells = adapters.map((adapter) => {
        const result = find(results, fault.id, adapter);
        return result ? cellOf(result.findings, fault, adapter) : '–';
      });
      return `| ${fault.title}<br>\`${fault.id}\` | ${cells.join(' | ')} |`;
    }),
  ];
}

function find(results: readonly Result[], fault: string, adapter: Adapter): Result | undefined {
  return results.find((result) => result.fault === fault && result.adapter === adapter.id);
}

interface Shown {
  readonly file: string;
  readonly table: Table;
}

function titleOf(file: string): string {
  return CHARTED.find((chart) => chart.file === file)!.title;
}

const CHARTED: readonly {
  file: string;
  fault: string;
  title: string;
  head: string;
  better: 'lower' | 'higher';
  figure: (findings: Findings) => number;
}[] = [
  {
    file: 'holder-cut.svg',
    fault: 'holder-cut',
    title: 'Only the holder is cut off: how long it and another both believe to hold',
    head: 'two holders, in s',
    better: 'lower',
    figure: ({ overlapMs }) => overlapMs / 1000,
  },
  {
    file: 'block.svg',
    fault: 'block',
    title: "The holder's event loop is blocked: updates lost afterwards",
    head: 'lost updates',
    better: 'lower',
    figure: ({ lostUpdates }) => lostUpdates?.none ?? 0,
  },
  {
    file: 'node-hung.svg',
    fault: 'node-hung',
    title: 'One of three nodes hangs: locks that are still had',
    head: 'entries, in % of those before',
    better: 'higher',
    figure: ({ served }) => (served ?? 0) * 100,
  },
];

function tables(results: readonly Result[]): Shown[] {
  return CHARTED.map(({ file, fault, title, head, better, figure }) => {
    const rows = COMPARED.map(adapterOf).flatMap((adapter): Row[] => {
      const result = find(results, fault, adapter);
      if (!result) return [];
      return [{ name: adapter.name, role: adapter.role as Row['role'], figures: { figure: figure(result.findings) } }];
    });
    const columns = [{ key: 'figure', head }];
    return { file, table: { title, about: '', columns, rows, chart: { column: 'figure', better } } };
  }).filter(({ table }) => table.rows.length > 0);
}
