import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { proveExclusion } from './exclusion.js';
import { heldKeys, usedKeys, type Stock } from './growth-stock.js';
import { KEYS, onKeysOf } from './locker.js';
import { measure, type Contender } from './measure.js';
import { acquireAndRelease, openAcquireAndRelease, openManager, redisNodes } from './ours.js';
import { scaled } from './scale.js';
import type { Setting } from './scenario.js';
import type { Table } from './table.js';
import { planned } from './turns.js';

const SIZES = [1000, 10_000, 100_000] as const;
/** More keys than are in flight, also where all is made small. */
const LEAST_SIZE = 512;
/** So long that no renewal falls into the run: what those cost is measured elsewhere. */
const HELD_TTL_MS = 3_600_000;

export interface Growth {
  /** Whether the keys were used before, or are held by the same process all the while. */
  readonly of: 'used' | 'held';
  readonly inFlight: number;
}

/** What a lock costs among 1 ×, 10 × and 100 × the keys: in one process, so that the process makes no difference. */
export async function growth(setting: Setting, { of, inFlight }: Growth): Promise<Table> {
  const options = { urls: setting.urls, waits: false, ttlMs: HELD_TTL_MS };
  await proveExclusion(() => openAcquireAndRelease(options));
  const ours = await openManager(redisNodes(options));
  const locker = acquireAndRelease(ours, options);
  const sizes = SIZES.map((size) => Math.max(LEAST_SIZE, scaled(size, setting)));
  const stock =
    of === 'used' ? await usedKeys(options.urls[0]!, onKeysOf(locker, sizes.at(-1))) : heldKeys(ours.manager);
  const plan = { count: scaled(inFlight === 1 ? 2000 : 8192, setting), inFlight };
  const contender = (size: number, index: number): Contender => {
    const keys = sizes[index]!;
    const take = planned(plan, onKeysOf(locker, of === 'used' ? keys : KEYS));
    return {
      name: `${size.toLocaleString('en-US')} keys ${WORDS[of]}`,
      role: 'ours',
      turn: async () => {
        await settled(stock, keys);
        return take();
      },
    };
  };
  const [first, ...others] = SIZES.map(contender);
  try {
    return await measure(
      {
        title: `Growth: ${inFlight === 1 ? 'one at a time' : `${inFlight} at once`}, keys ${WORDS[of]}`,
        operation: 'taking and giving back one lock with `acquire` and `release`',
        remark: REMARKS[of],
        contenders: [first!, ...others],
        rounds: 12,
        warmUp: 1,
        ratioOf: inFlight === 1 ? 'operation' : 'turn',
        columns: ['ratio', 'ratioQuartiles', 'medianUs', 'p95Us', 'perSecond', 'cpuUs'],
      },
      setting,
    );
  } finally {
    await stock.close();
    await ours.close();
  }
}

/** Without the garbage of resizing. */
async function settled(stock: Stock, size: number): Promise<void> {
  await stock.resize(size);
  collectGarbage();
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const WORDS: Readonly<Record<Growth['of'], string>> = { used: 'used before', held: 'held meanwhile' };

const REMARKS: Readonly<Record<Growth['of'], string>> = {
  used: 'The locks go round all the keys, each of which was used before.',
  held: 'The locks are on other keys than those held, whose ttl of an hour keeps renewals out.',
};
