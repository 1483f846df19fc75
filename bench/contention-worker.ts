/** One of the processes that want the same key. Arguments: the URLs of the nodes. */
import { contend, type WorkerOrder } from './contention.js';
import { openLockers } from './lockers.js';

const { lockers, close } = await openLockers({ urls: process.argv.slice(2), waits: true }, () => undefined);

process.on('message', ({ index, waiters, locks }: WorkerOrder) => {
  const taken: number[] = [];
  void contend(lockers[index]!, waiters, locks, (ms) => taken.push(ms)).then(() => process.send!({ taken }));
});
process.once('SIGTERM', () => void close().then(() => process.exit(0)));
process.send!({ names: lockers.map(({ name }) => name) });
