/** What a scenario brings home: figures of several contenders, which become a Markdown table, an SVG chart and a part of bench/results.json. */
export interface Table {
  readonly title: string;
  /** What one operation is, how long it was measured, and whatever else a reader of the figures needs: a few sentences of Markdown on one line. */
  readonly about: string;
  /** After the column of names. */
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** The column whose figures, numbers all, are drawn as bars. */
  readonly chart: { readonly column: string; readonly better: 'lower' | 'higher' };
  /** Who could not take part, and why: `murlock 4.4.0: it locks on one Redis only`. */
  readonly leftOut?: readonly string[];
}

export interface Column {
  /** Of the figures of a row. */
  readonly key: string;
  /** With the unit: `median µs`. */
  readonly head: string;
  /** After the point. Default: as many as three significant digits take. */
  readonly digits?: number;
}

/** Limits are what no lock can do better than, or the bare commands; the others are locks. */
export type Role = 'limit' | 'ours' | 'peer';

export interface Row {
  readonly name: string;
  readonly role: Role;
  /** By the keys of columns; figures that no column shows are kept in results.json, too. */
  readonly figures: Readonly<Record<string, Figure>>;
}

/** A pair is a range; null is a figure that this row has not. */
export type Figure = number | string | readonly [low: number, high: number] | null;
