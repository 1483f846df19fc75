import { figureText } from './markdown.js';
import type { Role, Row, Table } from './table.js';

const WIDTH = 820;
const LABELS = 320;
const FIGURES = 90;
const TOP = 46;
const LINE = 26;
const BAR = 16;
const FONT = 13;

/** Of light and of dark pages. */
const COLOURS: Readonly<Record<Role | 'text' | 'quiet', readonly [light: string, dark: string]>> = {
  ours: ['#0b6e4f', '#3fbf8f'],
  peer: ['#7d8aa0', '#6f7c92'],
  limit: ['#c9a227', '#d9b84a'],
  text: ['#24292f', '#e6edf3'],
  quiet: ['#57606a', '#9aa5b1'],
};

/** The table's main column as bars, for a page that may be light or dark. It says what it shows to those who cannot see it. */
export function chartOf({ title, columns, rows, chart }: Table): string {
  const column = columns.find(({ key }) => key === chart.column);
  if (!column) throw new Error(`${title}: the chart shows ${chart.column}, which is no column`);
  const bars = rows.filter(({ figures }) => typeof figures[chart.column] === 'number');
  const most = Math.max(...bars.map((row) => valueOf(row, chart.column)));
  const texts = bars.map((row) => figureText(row.figures[chart.column], column));
  const better = `${column.head}; ${chart.better} is better`;
  const spoken = bars.map(({ name }, index) => `${name} ${texts[index]}`).join(', ');
  const height = TOP + bars.length * LINE + 8;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="description">${escaped(`${better}: ${spoken}`)}</desc>`,
    `<style>${style()}</style>`,
    `<text class="text strong" x="0" y="16">${escaped(title)}</text>`,
    `<text class="quiet" x="0" y="34">${escaped(better)}</text>`,
    ...bars.flatMap((row, index) => bar(row, texts[index]!, valueOf(row, chart.column) / most, TOP + index * LINE)),
    '</svg>',
    '',
  ].join('\n');
}

function bar({ name, role }: Row, text: string, part: number, y: number): string[] {
  const width = Math.max(1, part * (WIDTH - LABELS - FIGURES));
  const base = y + BAR - 3;
  const weight = role === 'ours' ? ' strong' : '';
  return [
    `<text class="text${weight}" x="${LABELS - 10}" y="${base}" text-anchor="end">${escaped(name)}</text>`,
    `<rect class="${role}" x="${LABELS}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="2"/>`,
    `<text class="text${weight}" x="${(LABELS + width + 8).toFixed(1)}" y="${base}">${escaped(text)}</text>`,
  ];
}

function style(): string {
  const rules = (index: 0 | 1): string =>
    Object.entries(COLOURS)
      .map(([name, colours]) => `.${name}{fill:${colours[index]}}`)
      .join('');
  const font = `text{font:${FONT}px system-ui,sans-serif}.strong{font-weight:600}`;
  return `${font}${rules(0)}@media(prefers-color-scheme:dark){${rules(1)}}`;
}

function valueOf({ figures }: Row, column: string): number {
  return Math.max(0, figures[column] as number);
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}
