/** What one contender did in one turn. */
export interface Turn {
  /** What each operation took, in ms; or the mean of some that were timed together. */
  readonly times: readonly number[];
  /** Of the whole turn, in ms. */
  readonly perOperation: number;
  /** What this process computed for each operation; null where others took part. */
  readonly cpuUs: number | null;
}

export type Took = (ms: number, operations?: number) => void;

/** Times a turn that is taken in this process. */
export async function takeTurn(body: (took: Took) => Promise<void>): Promise<Turn> {
  const times: number[] = [];
  let count = 0;
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  await body((ms, operations = 1) => {
    times.push(ms);
    count += operations;
  });
  const perOperation = (performance.now() - start) / count;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { times, perOperation, cpuUs: (user + system) / count };
}
