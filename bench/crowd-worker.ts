/** One of the processes that want the same key. Argument: a WorkerSetup. */
import 'reflect-metadata';
import { contend } from './contention.js';
import type { Opened, Taken, WorkerOrder, WorkerSetup } from './crowd.js';
import { admit, openProven, type Entrant } from './entrant.js';
import { entrantOf } from './entrants.js';
import type { Locker } from './locker.js';

const { ids, urls, proves } = JSON.parse(process.argv[2]!) as WorkerSetup;
const options = { urls, waits: true };
const enter = async (entrant: Entrant): Promise<{ id: string; locker: Locker }> => {
  const locker = await (proves ? openProven(entrant, options) : entrant.open(options));
  return { id: entrant.id, locker };
};
const { admitted, leftOut } = await admit(ids.map(entrantOf), enter);

process.on('message', ({ index, waiters, locks }: WorkerOrder) => {
  const taken: number[] = [];
  const said = (): unknown => process.send!({ taken } satisfies Taken);
  void contend(admitted[index]!.locker, waiters, locks, (ms) => taken.push(ms)).then(said);
});
process.once(
  'SIGTERM',
  () => void Promise.all(admitted.map(({ locker }) => locker.close())).then(() => process.exit(0)),
);
const opened = admitted.map(({ id, locker: { name, role } }) => ({ id, name, role }));
process.send!({ opened, leftOut } satisfies Opened);
