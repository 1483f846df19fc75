/** One keeper alone, which does what it is told, one thing after the other. Arguments: its id, the URL of the node. */
import 'reflect-metadata';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Role } from '../table.js';
import { KEEPER_ENTRANTS } from './entrants.js';
import { KEY_MARK, RENEWALS_PER_TTL, type Keeper } from './keeper.js';

export type KeeperOrder =
  | { readonly do: 'keep'; readonly count: number; readonly ttlMs: number }
  | { readonly do: 'let go' }
  | { readonly do: 'count lost' }
  | { readonly do: 'take cpu' | 'take delay'; readonly ms: number };

export type KeeperAnswer =
  | { readonly name: string; readonly role: Role }
  /** What was asked for: µs of CPU a second, the p99 of the event loop's delay in ms, or locks lost. */
  | { readonly figure: number }
  | { readonly refusal: string };

/** Locks that are taken together; in between others are renewed. */
const TOGETHER = 100;

let made = 0;

/** As in an application, they are not all taken at once, so that their renewals are spread from the beginning. */
async function keep(keeper: Keeper, count: number, ttlMs: number): Promise<number> {
  const pauseMs = (ttlMs / RENEWALS_PER_TTL) * (TOGETHER / count);
  for (let left = count; left > 0; left -= TOGETHER) {
    const keys = Array.from({ length: Math.min(TOGETHER, left) }, () => `${KEY_MARK}${made++}`);
    await keeper.keep(keys, ttlMs);
    await sleep(pauseMs);
  }
  return 0;
}

async function cpuPerSecond(ms: number): Promise<number> {
  const start = performance.now();
  const before = process.cpuUsage();
  await sleep(ms);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / (performance.now() - start);
}

async function delay(ms: number): Promise<number> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  await sleep(ms);
  histogram.disable();
  return histogram.percentile(99) / 1_000_000;
}

function carryOut(keeper: Keeper, order: KeeperOrder): Promise<number> | number {
  switch (order.do) {
    case 'keep':
      return keep(keeper, order.count, order.ttlMs);
    case 'let go':
      return keeper.letGo().then(() => 0);
    case 'count lost':
      return keeper.lost();
    case 'take cpu':
      return cpuPerSecond(order.ms);
    case 'take delay':
      return delay(order.ms);
  }
}

const [, , id, url = ''] = process.argv;
process.once('disconnect', () => process.exit(1));
const say = (answer: KeeperAnswer): void => void process.send!(answer);
const refuse = (error: unknown): void => say({ refusal: error instanceof Error ? error.message : String(error) });

try {
  const keeper = await KEEPER_ENTRANTS.find((entrant) => entrant.id === id)!.open(url);
  process.on('message', (order: KeeperOrder) => {
    void (async () => carryOut(keeper, order))().then((figure) => say({ figure }), refuse);
  });
  say({ name: keeper.name, role: keeper.role });
} catch (error) {
  refuse(error);
}
