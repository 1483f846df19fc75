import type { Contender } from './measure.js';

type Operation = (index: number) => Promise<unknown>;

/** `count` operations, each after the one before. */
export function oneAtATime(name: string, count: number, operation: Operation): Contender {
  let index = 0;
  return {
    name,
    async turn(took) {
      for (let left = count; left > 0; left--) {
        const start = performance.now();
        await operation(index++);
        took(performance.now() - start);
      }
    },
  };
}

/** For operations that are too short for one reading of the clock each: `samples` times `batch` of them. */
export function inBatches(name: string, samples: number, batch: number, operation: Operation): Contender {
  let index = 0;
  return {
    name,
    async turn(took) {
      for (let sample = 0; sample < samples; sample++) {
        const start = performance.now();
        for (let left = batch; left > 0; left--) await operation(index++);
        took((performance.now() - start) / batch, batch);
      }
    },
  };
}

/** `count` operations, of which `inFlight` run at any time; each is timed from its own start. */
export function manyInFlight(name: string, count: number, inFlight: number, operation: Operation): Contender {
  let index = 0;
  return {
    name,
    async turn(took) {
      let left = count;
      const lane = async (): Promise<void> => {
        while (left-- > 0) {
          const start = performance.now();
          await operation(index++);
          took(performance.now() - start);
        }
      };
      await Promise.all(Array.from({ length: inFlight }, lane));
    },
  };
}
