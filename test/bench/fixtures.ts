import type { Row, Table } from '../../bench/table.js';

export function row(name: string, role: Row['role'], figures: Row['figures']): Row {
  return { name, role, figures };
}

export function table(rows: readonly Row[], rest: Partial<Table> = {}): Table {
  return {
    title: 'A & B <1 node>',
    about: 'One operation: a lock.',
    columns: [{ key: 'ratio', head: 'time, ratio', digits: 2 }],
    chart: { column: 'ratio', better: 'lower' },
    rows,
    ...rest,
  };
}
