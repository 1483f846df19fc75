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
  const rounded = (_key: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(DIGITS)) : value;
  writeFileSync(FILE, `${JSON.stringify(results, rounded, 1)}\n`);
}
