import type { Sample } from './census.js';

/** What grows by less than this may only have been used more. */
const SLACK: Sample = { heapBytes: 12_000_000, listeners: 20, resources: 20 };
const GROWTH = 0.2;
/** Fewer say nothing about a trend. */
const FEWEST = 8;

/** What became more and more from the second quarter of the samples, when all is warm, to the last; each time the least of them, since what is in use goes up and down. */
export function growths(samples: readonly Sample[]): string[] {
  if (samples.length < FEWEST) return [];
  const quarter = Math.floor(samples.length / 4);
  const early = samples.slice(quarter, 2 * quarter);
  const late = samples.slice(-quarter);
  return (Object.keys(SLACK) as (keyof Sample)[]).flatMap((what) => {
    const [before, after] = [early, late].map((some) => Math.min(...some.map((sample) => sample[what])));
    const most = before! * (1 + GROWTH) + SLACK[what];
    return after! > most ? [`${what} grew from ${before} to ${after}`] : [];
  });
}
