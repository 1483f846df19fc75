import { readFileSync, writeFileSync } from 'node:fs';
import type { Table } from './table.js';

/** One measured scenario, as it is kept. */
export interface Measured {
  /** When, on what, and with which command: the same text for all that ran together. */
  readonly run: string;
  readonly table: Table;
}

export type Results = Readonly<Record<string, Measured>>;

const FILE = new URL('./results.json', import.meta.url);
const DIGITS = 5;

export function readResults(): Results {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Results;
}

export function writeResults(results: Results): void {
  writeFileSync(FILE, resultsText(results));
}

/** A row on a line, so that changes can be read. */
export function resultsText(results: Results): string {
  const scenarios = Object.entries(results).map(([name, { run, table }]) => {
    const { rows, ...rest } = table;
    const lines = rows.map((row) => `   ${text(row)}`).join(',\n');
    return ` ${text(name)}: {\n  "run": ${text(run)},\n  "table": ${text(rest).slice(0, -1)}, "rows": [\n${lines}\n  ]}\n }`;
  });
  return `{\n${scenarios.join(',\n')}\n}\n`;
}

function text(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'number' ? Number(part.toPrecision(DIGITS)) : part,
  );
}
