import { OURS } from './entrants.js';
import { Guest, type GuestOrder } from './guest.js';
import { measure, type Contender } from './measure.js';
import { scaled } from './scale.js';
import type { Setting } from './scenario.js';
import type { Table } from './table.js';

const SIZES = [1000, 10_000, 100_000];
const MOST_IN_FLIGHT = 512;
/** So long that no renewal falls into the run: what those cost is measured elsewhere. */
const HELD_TTL_MS = 3_600_000;

export interface Growth {
  /** Whether the keys were used before, or are held by the same process all the while. */
  readonly of: 'used' | 'held';
  readonly inFlight: number;
}

/** What a lock costs among 1 ×, 10 × and 100 × the keys, each in a process and on a Redis of its own. */
export async function growth(setting: Setting, { of, inFlight }: Growth): Promise<Table> {
  const plan = { count: scaled(inFlight === 1 ? 200 : 1024, setting), inFlight };
  const guests: Guest[] = [];
  try {
    const contenders: Contender[] = [];
    for (const [index, size] of SIZES.entries()) {
      // More than are in flight, also where all is made small.
      const keys = Math.max(MOST_IN_FLIGHT, scaled(size, setting));
      // The same for all, so that all have their code compiled alike.
      const uses = scaled(SIZES.at(-1)!, setting);
      const order: GuestOrder = {
        id: OURS.id,
        options: { urls: [setting.urls[index]!], waits: false, ttlMs: HELD_TTL_MS },
        plan,
        uses,
        ...(of === 'used' ? { keys } : { held: keys }),
      };
      const guest = await Guest.start(order);
      guests.push(guest);
      const name = `${size.toLocaleString('en-US')} keys ${of === 'used' ? 'used before' : 'held meanwhile'}`;
      contenders.push({ name, role: 'ours', turn: () => guest.turn() });
    }
    const [first, ...others] = contenders;
    return await measure(
      {
        title: `Growth: ${inFlight === 1 ? 'one at a time' : `${inFlight} at once`}, keys ${of === 'used' ? 'used before' : 'held meanwhile'}`,
        operation: 'taking and giving back one lock with `acquire` and `release`',
        remark: REMARKS[of],
        contenders: [first!, ...others],
        rounds: 60,
        ratioOf: inFlight === 1 ? 'operation' : 'turn',
        columns: ['ratio', 'ratioQuartiles', 'medianUs', 'p95Us', 'perSecond', 'cpuUs'],
      },
      setting,
    );
  } finally {
    await Promise.all(guests.map((guest) => guest.stop()));
  }
}

const REMARKS: Readonly<Record<Growth['of'], string>> = {
  used: 'The locks go round all the keys, each of which was used before.',
  held: 'The locks are on other keys than those held, whose ttl of an hour keeps renewals out.',
};
