/** One way of doing the same thing. */
export interface Contender {
  readonly name: string;
  /** Its turn: some operations. Adds what each took, in ms; or the mean of some that were timed together. */
  turn(took: (ms: number, operations?: number) => void): Promise<void>;
}

export interface Comparison {
  readonly title: string;
  /** What one operation is. */
  readonly operation: string;
  /** The first is the baseline of the others. */
  readonly contenders: readonly [Contender, ...Contender[]];
  readonly rounds: number;
  /** What the ratios compare: the median operation, or, where operations overlap, the time of the whole turn. */
  readonly ratioOf: 'operation' | 'turn';
}

export interface Row {
  readonly name: string;
  readonly medianUs: number;
  readonly p95Us: number;
  /** Operations per second over whole turns: with many in flight, that is not 1 / median. */
  readonly perSecond: number;
  /** Median over the rounds of this contender's figure through the baseline's of the same round. */
  readonly ratio: number;
  /** The quartiles over the rounds. */
  readonly spread: readonly [low: number, high: number];
}

export interface Result extends Omit<Comparison, 'contenders'> {
  readonly rows: readonly Row[];
}

interface Turn {
  readonly times: number[];
  readonly perOperation: number;
}

/** Rounds that do not count, in which the code of all contenders is compiled to what it will stay. */
const WARM_UP_ROUNDS = 10;

/** Lets all contenders take turns, round after round, so that whatever else the machine does hits all of them alike. */
export async function measure(comparison: Comparison): Promise<Result> {
  const { contenders, ...about } = comparison;
  const turns = contenders.map((): Turn[] => []);
  for (let round = -WARM_UP_ROUNDS; round < comparison.rounds; round++) {
    for (let place = 0; place < contenders.length; place++) {
      // Nobody always follows the same neighbour's garbage.
      const index = (place + Math.max(round, 0)) % contenders.length;
      const turn = await takeTurn(contenders[index]!);
      if (round >= 0) turns[index]!.push(turn);
    }
  }
  const baseline = turns[0]!;
  const figure = comparison.ratioOf === 'turn' ? perOperation : medianOperation;
  const rows = contenders.map(({ name }, index) => summary(name, turns[index]!, baseline, figure));
  return { ...about, rows };
}

async function takeTurn(contender: Contender): Promise<Turn> {
  const times: number[] = [];
  const start = performance.now();
  let count = 0;
  await contender.turn((ms, operations = 1) => {
    times.push(ms);
    count += operations;
  });
  return { times, perOperation: (performance.now() - start) / count };
}

type Figure = (turn: Turn) => number;

const medianOperation: Figure = ({ times }) => quantile(times, 0.5);
const perOperation: Figure = (turn) => turn.perOperation;

function summary(name: string, turns: readonly Turn[], baseline: readonly Turn[], figure: Figure): Row {
  const all = turns.flatMap(({ times }) => times);
  const ratios = turns.map((turn, round) => figure(turn) / figure(baseline[round]!));
  return {
    name,
    medianUs: quantile(all, 0.5) * 1000,
    p95Us: quantile(all, 0.95) * 1000,
    perSecond: 1000 / quantile(turns.map(perOperation), 0.5),
    ratio: quantile(ratios, 0.5),
    spread: [quantile(ratios, 0.25), quantile(ratios, 0.75)],
  };
}

export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) throw new Error('nothing was measured');
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * q;
  const below = sorted[Math.floor(place)]!;
  return below + (sorted[Math.ceil(place)]! - below) * (place % 1);
}
