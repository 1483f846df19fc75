import type { Column, Figure, Table } from './table.js';

/** One comparison as a Markdown table, under a heading. */
export function tableText({ title, about, columns, rows, leftOut = [] }: Table): string {
  const lines = [
    `### ${title}`,
    '',
    about,
    '',
    `| | ${columns.map(({ head }) => head).join(' | ')} |`,
    `|---|${columns.map(() => '---:|').join('')}`,
    ...rows.map(({ name, role, figures }) => {
      const label = role === 'ours' ? `**${name}**` : name;
      return `| ${[label, ...columns.map((column) => figureText(figures[column.key], column))].join(' | ')} |`;
    }),
    ...(leftOut.length > 0 ? ['', `Left out: ${leftOut.join('; ')}.`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

export function figureText(figure: Figure | undefined, { digits }: Pick<Column, 'digits'>): string {
  if (figure === undefined || figure === null) return '–';
  if (typeof figure === 'string') return figure;
  if (typeof figure === 'number') return numberText(figure, digits);
  return figure.map((end) => numberText(end, digits)).join(' – ');
}

function numberText(value: number, digits = defaultDigits(value)): string {
  // Digits after the point say nothing where there are as many before it.
  const fraction = Math.abs(value) >= 100 ? 0 : digits;
  return value.toLocaleString('en-US', { minimumFractionDigits: fraction, maximumFractionDigits: fraction });
}

function defaultDigits(value: number): number {
  if (Math.abs(value) >= 100 || value === 0) return 0;
  return Math.abs(value) >= 10 ? 1 : 2;
}
