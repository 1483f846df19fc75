import type { Scale } from './scale.js';
import type { Table } from './table.js';

/** One table of the bench. It runs in a Node process of its own, so that nothing an earlier one did to the process shows in its figures. */
export interface Scenario {
  /** For `--only`, which also takes what comes before a dash; and of the chart, docs/charts/<name>.svg. */
  readonly name: string;
  /** How many Redis nodes it wants, fresh ones on loopback, which end after it. Default: none; it may also start its own with test/support. */
  readonly nodes?: number;
  /** Whether it wants a PostgreSQL. */
  readonly postgres?: boolean;
  /** What `--check` and the page hold its rows against. */
  readonly targets?: readonly Target[];
  /** Whether it differs from another only in counts or nodes: `--smoke` leaves it out, unless `--only` asks for it. */
  readonly alike?: boolean;
  /** Loads the code with `import()`, so that who only wants the list does not run it. */
  readonly run: (setting: Setting) => Promise<Table>;
}

export interface Setting extends Scale {
  /** Of the Redis nodes. */
  readonly urls: readonly string[];
  /** Empty, unless asked for. */
  readonly postgresUrl: string;
}

export interface Target {
  /** The name of the row. */
  readonly row: string;
  /** The key of the column. */
  readonly column: string;
  /** The figure may be this at most; or that of the best peer of the table. */
  readonly most?: number | 'best peer';
  /** The figure has to be this at least. */
  readonly least?: number;
}
