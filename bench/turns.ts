import { takeTurn, type Turn } from './turn.js';

type Operation = (index: number) => Promise<unknown>;
type TakeTurn = () => Promise<Turn>;

/** `count` operations, each after the one before. */
export function oneAtATime(count: number, operation: Operation): TakeTurn {
  let index = 0;
  return () =>
    takeTurn(async (took) => {
      for (let left = count; left > 0; left--) {
        const start = performance.now();
        await operation(index++);
        took(performance.now() - start);
      }
    });
}

/** For operations that are too short for one reading of the clock each: `samples` times `batch` of them. */
export function inBatches(samples: number, batch: number, operation: Operation): TakeTurn {
  let index = 0;
  return () =>
    takeTurn(async (took) => {
      for (let sample = 0; sample < samples; sample++) {
        const start = performance.now();
        for (let left = batch; left > 0; left--) await operation(index++);
        took((performance.now() - start) / batch, batch);
      }
    });
}

/** `count` operations, of which `inFlight` run at any time; each is timed from its own start. */
export function manyAtOnce(count: number, inFlight: number, operation: Operation): TakeTurn {
  let index = 0;
  return () =>
    takeTurn(async (took) => {
      let left = count;
      const lane = async (): Promise<void> => {
        while (left-- > 0) {
          const start = performance.now();
          await operation(index++);
          took(performance.now() - start);
        }
      };
      await Promise.all(Array.from({ length: inFlight }, lane));
    });
}

/** What a turn is made of, in words that another process understands. */
export interface TurnPlan {
  readonly count: number;
  readonly inFlight: number;
}

export function planned({ count, inFlight }: TurnPlan, operation: Operation): TakeTurn {
  return inFlight === 1 ? oneAtATime(count, operation) : manyAtOnce(count, inFlight, operation);
}
