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

/** `count` operations, `size` of which start together, when all those before are done; each is timed from its own start. */
export function inWaves(count: number, size: number, operation: Operation): TakeTurn {
  let index = 0;
  return () =>
    takeTurn(async (took) => {
      const one = async (): Promise<void> => {
        const start = performance.now();
        await operation(index++);
        took(performance.now() - start);
      };
      for (let left = count; left > 0; left -= size) {
        await Promise.all(Array.from({ length: Math.min(left, size) }, one));
      }
    });
}

/** `count` operations, of which `inFlight` run at any time; each is timed from its own start. */
export function steadily(count: number, inFlight: number, operation: Operation): TakeTurn {
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
  /** One: each after the one before. */
  readonly inFlight: number;
  /** Whether the next starts as soon as one is done, rather than when all that started with it are. */
  readonly steady?: boolean;
}

export function planned({ count, inFlight, steady = false }: TurnPlan, operation: Operation): TakeTurn {
  if (inFlight === 1) return oneAtATime(count, operation);
  return steady ? steadily(count, inFlight, operation) : inWaves(count, inFlight, operation);
}
