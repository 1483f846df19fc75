import type { Scale } from './scale.js';
import { rounds } from './scale.js';
import type { Column, Figure, Role, Row, Table } from './table.js';
import type { Turn } from './turn.js';

/** One way of doing the same thing. */
export interface Contender {
  readonly name: string;
  readonly role: Role;
  /** Its turn: some operations. */
  turn(): Promise<Turn>;
}

export interface Comparison {
  readonly title: string;
  /** What one operation is. */
  readonly operation: string;
  /** What else the reader has to know. */
  readonly remark?: string;
  /** The first is the baseline of the others. */
  readonly contenders: readonly [Contender, ...Contender[]];
  /** Of a run that is neither shortened nor prolonged. */
  readonly rounds: number;
  /** Where turns are long, fewer rounds do to have all code compiled. */
  readonly warmUp?: number;
  /** What the ratios compare: the median operation, or, where operations overlap, the time of the whole turn. */
  readonly ratioOf: 'operation' | 'turn';
  readonly columns: readonly (keyof typeof COLUMNS)[];
  readonly leftOut?: readonly string[];
  /** The row from which `added` is counted. Default: the first. */
  readonly addedTo?: string;
}

/** What is known of each contender. Ratios and differences are those to the baseline of the same round, and their median over the rounds. */
export const COLUMNS = {
  ratio: { head: 'time, ratio', digits: 2 },
  ratioQuartiles: { head: 'quartiles over rounds', digits: 2 },
  speed: { head: 'speed, ratio', digits: 2 },
  speedQuartiles: { head: 'quartiles over rounds', digits: 2 },
  medianUs: { head: 'median µs' },
  p95Us: { head: 'p95 µs' },
  /** Over whole turns: with many in flight, that is not 1 / median. */
  perSecond: { head: 'per second' },
  cpuUs: { head: 'CPU µs each' },
  addedUs: { head: 'µs more', digits: 1 },
} satisfies Record<string, Omit<Column, 'key'>>;

/** Lets all contenders take turns, round after round, so that whatever else the machine does hits all of them alike. */
export async function measure(comparison: Comparison, scale: Scale): Promise<Table> {
  const { title, operation, remark, contenders, ratioOf, columns, leftOut = [], addedTo } = comparison;
  const count = rounds(comparison.rounds, scale);
  const warmUp = Math.min(scale.warmUp, comparison.warmUp ?? Infinity);
  const turns = contenders.map((): Turn[] => []);
  for (let round = -warmUp; round < count; round++) {
    for (let place = 0; place < contenders.length; place++) {
      // Nobody always follows the same neighbour's garbage.
      const index = (place + Math.max(round, 0)) % contenders.length;
      const turn = await contenders[index]!.turn();
      if (round >= 0) turns[index]!.push(turn);
    }
  }
  const figure = ratioOf === 'turn' ? perOperation : medianOperation;
  const baseline = turns[0]!.map(figure);
  const start =
    turns[
      Math.max(
        0,
        contenders.findIndex(({ name }) => name === addedTo),
      )
    ]!.map(figure);
  const rows = contenders.map(({ name, role }, index): Row => ({
    name,
    role,
    figures: { ...summary(turns[index]!), ...comparedWith(baseline, start, turns[index]!.map(figure)) },
  }));
  const measured = `${count} rounds; the ratio is of the ${ratioOf === 'turn' ? 'total time' : 'median'}.`;
  return {
    title,
    about: [`One operation: ${operation}.`, measured, remark].filter(Boolean).join(' '),
    columns: columns.map((key) => ({ key, ...COLUMNS[key] })),
    chart: columns.includes('speed') ? { column: 'speed', better: 'higher' } : { column: 'ratio', better: 'lower' },
    rows,
    leftOut,
  };
}

type Of = (turn: Turn) => number;

const medianOperation: Of = ({ times }) => quantile(times, 0.5);
const perOperation: Of = (turn) => turn.perOperation;

function summary(turns: readonly Turn[]): Record<string, Figure> {
  const all = turns.flatMap(({ times }) => times);
  const cpu = turns.flatMap(({ cpuUs }) => (cpuUs === null ? [] : [cpuUs]));
  return {
    medianUs: quantile(all, 0.5) * 1000,
    p95Us: quantile(all, 0.95) * 1000,
    perSecond: 1000 / quantile(turns.map(perOperation), 0.5),
    cpuUs: cpu.length > 0 ? quantile(cpu, 0.5) : null,
  };
}

function comparedWith(
  baseline: readonly number[],
  start: readonly number[],
  figures: readonly number[],
): Record<string, Figure> {
  const ratios = figures.map((figure, round) => figure / baseline[round]!);
  const [ratio, low, high] = [0.5, 0.25, 0.75].map((q) => quantile(ratios, q)) as [number, number, number];
  return {
    ratio,
    ratioQuartiles: [low, high],
    speed: 1 / ratio,
    speedQuartiles: [1 / high, 1 / low],
    addedUs:
      quantile(
        figures.map((figure, round) => figure - start[round]!),
        0.5,
      ) * 1000,
  };
}

export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) throw new Error('nothing was measured');
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * q;
  const below = sorted[Math.floor(place)]!;
  return below + (sorted[Math.ceil(place)]! - below) * (place % 1);
}
