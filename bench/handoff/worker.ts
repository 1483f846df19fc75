/** One of the processes that want the same key. Argument: a WorkerSetup. */
import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { admit, openProven } from '../entrant.js';
import type { Locker } from '../locker.js';
import type { Order, WorkerReady, WorkerSetup } from './crowd.js';
import { HANDOFF_ENTRANTS, needsProof } from './entrants.js';
import { now, type Use } from './use.js';

const { url, ids, proves } = JSON.parse(process.argv[2]!) as WorkerSetup;
const options = { urls: [url], waits: true };
const entrants = HANDOFF_ENTRANTS.filter(({ id }) => ids.includes(id));
const { admitted, leftOut } = await admit(entrants, (entrant) =>
  proves && needsProof(entrant) ? openProven(entrant, options) : entrant.open(options),
);

/** Some polling callers never get it. */
const DRAINED_MS = 3000;

/** Callers who want the key again and again. */
async function contend(locker: Locker, { key, callers, startsAt, endsAt, held, drains }: Order): Promise<Use[]> {
  const uses: Use[] = [];
  const caller = async (who: number): Promise<void> => {
    while (now() < endsAt) {
      const use: Use = { who, takenAt: 0, leftAt: 0 };
      await locker.lock(key, async () => {
        use.takenAt = now();
        uses.push(use);
        if (held) await sleep(1);
        use.leftAt = now();
      });
    }
  };
  await sleepUntil(startsAt);
  const all = Promise.all(Array.from({ length: callers }, (_, who) => caller(who)));
  await Promise.race([sleepUntil(drains ? endsAt + DRAINED_MS : endsAt + 1), all]);
  return drains ? uses : uses.filter(({ takenAt }) => takenAt < endsAt);
}

async function sleepUntil(time: number): Promise<void> {
  await sleep(time - now());
}

process.on('message', (order: Order) => {
  contend(
    admitted.find(({ name }) => name === order.name)!,
    order,
  ).then(
    (uses) => process.send!({ uses }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.once('SIGTERM', () => void Promise.all(admitted.map((each) => each.close())).then(() => process.exit(0)));
process.send!({ opened: admitted.map(({ name, role }) => ({ name, role })), leftOut } satisfies WorkerReady);
