import type { Scenario, Target } from './scenario.js';
import type { Column, Table } from './table.js';

export interface Verdict {
  /** Which row is meant, and which figure. */
  readonly what: string;
  /** What it has to be. */
  readonly wanted: string;
  readonly measured: number | undefined;
  readonly met: boolean;
}

/** Holds a table against what its scenario aims at. A figure that is missing meets nothing. */
export function verdicts({ targets = [] }: Scenario, table: Table): Verdict[] {
  return targets.map((target) => verdict(target, table));
}

function verdict({ row, column, most, least }: Target, table: Table): Verdict {
  const measured = figure(table, row, column);
  const limit = most === 'best peer' ? bestPeer(table, column) : most;
  const met = measured !== undefined && measured <= (limit ?? Infinity) && measured >= (least ?? -Infinity);
  const wanted = [
    limit === undefined ? '' : `≤ ${shortText(limit)}${most === 'best peer' ? ' (best peer)' : ''}`,
    least === undefined ? '' : `≥ ${shortText(least)}`,
  ];
  return { what: `${row}: ${headOf(table.columns, column)}`, wanted: wanted.filter(Boolean).join(', '), measured, met };
}

/** Nobody, where no peer ran: then nothing is to be beaten. */
function bestPeer(table: Table, column: string): number | undefined {
  const peers = table.rows.filter(({ role }) => role === 'peer').map(({ name }) => figure(table, name, column));
  const figures = peers.filter((value) => value !== undefined);
  return figures.length > 0 ? Math.min(...figures) : undefined;
}

function figure({ rows }: Table, name: string, column: string): number | undefined {
  const value = rows.find((row) => row.name === name)?.figures[column];
  return typeof value === 'number' ? value : undefined;
}

function headOf(columns: readonly Column[], key: string): string {
  return columns.find((column) => column.key === key)?.head ?? key;
}

export function shortText(value: number): string {
  return String(Number(value.toPrecision(3)));
}
