import { cpus, totalmem } from 'node:os';
import type { Result, Row } from './measure.js';

const MB = 2 ** 20;

export function machine(servers: readonly string[]): string {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / MB / 1024);
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown CPU'}, ${memory} GB, ${['Node ' + process.version, ...servers].join(', ')}`;
}

/** One comparison as a Markdown table. */
export function table({ title, operation, rounds, ratioOf, rows }: Result): string {
  const figure = ratioOf === 'turn' ? 'total time' : 'median';
  const lines = [
    `### ${title}`,
    '',
    `One operation: ${operation}. ${rounds} rounds; the ratio is of the ${figure}.`,
    '',
    '| | ratio | quartiles over rounds | median µs | p95 µs | per second |',
    '|---|---:|---:|---:|---:|---:|',
    ...rows.map(line),
    '',
  ];
  return lines.join('\n');
}

function line({ name, ratio, spread: [low, high], medianUs, p95Us, perSecond }: Row): string {
  const cells = [
    name,
    ratioText(ratio),
    `${ratioText(low)} – ${ratioText(high)}`,
    figureText(medianUs),
    figureText(p95Us),
    figureText(perSecond),
  ];
  return `| ${cells.join(' | ')} |`;
}

function ratioText(ratio: number): string {
  return ratio >= 100 ? ratio.toFixed(0) : ratio.toFixed(2);
}

function figureText(value: number): string {
  return value < 10 ? value.toFixed(2) : Math.round(value).toLocaleString('en-US');
}
