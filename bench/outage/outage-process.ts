/** One contender that meets an outage. Argument: an OutageOrder. */
import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openProven } from '../entrant.js';
import { OUTAGE_ENTRANTS } from './entrants.js';
import { loadFor, type Spell } from './load.js';

export interface OutageOrder {
  /** Of the entrant. */
  readonly id: string;
  readonly urls: readonly string[];
  readonly warmUpMs: number;
  readonly healthyMs: number;
  readonly outageMs: number;
}

/** First `ready`, or a refusal; once the parent has said that the outage has begun, the outcome. */
export type OutageMessage =
  | { readonly refusal: string }
  | { readonly ready: true }
  | {
      readonly name: string;
      readonly healthy: Spell;
      readonly outage: Spell;
      /** Garbage collected before and after. */
      readonly heapMb: number;
      readonly rssMb: number;
    };

const MB = 1_048_576;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function memory(): { readonly heap: number; readonly rss: number } {
  collectGarbage();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

const say = (message: OutageMessage): void => void process.send!(message);
const order = JSON.parse(process.argv[2]!) as OutageOrder;
// Nobody asks a process that has lost its parent.
process.once('disconnect', () => process.exit(1));

try {
  const entrant = OUTAGE_ENTRANTS.find(({ id }) => id === order.id)!;
  const locker = await openProven(entrant, { urls: order.urls, waits: false, plain: true });
  const lock = (key: string): Promise<void> => locker.lock(key);
  await loadFor(order.warmUpMs, lock);
  const healthy = await loadFor(order.healthyMs, lock);
  const before = memory();
  process.once('message', () => {
    void loadFor(order.outageMs, lock).then((outage) => {
      const after = memory();
      say({
        name: locker.name,
        healthy,
        outage,
        heapMb: (after.heap - before.heap) / MB,
        rssMb: (after.rss - before.rss) / MB,
      });
    });
  });
  say({ ready: true });
} catch (error) {
  say({ refusal: error instanceof Error ? error.message : String(error) });
}
