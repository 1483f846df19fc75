import { LockOptionsError } from '../../errors.js';
import type { Timers } from '../../runtime.js';
import type { Session } from './session.js';

/** A proxy gives the same backend out again at once, unless others are quicker; so a few rounds tell. */
const ROUNDS = 5;
/** If a second client has to wait for a backend while the first is idle, then the first has its own. */
const PATIENCE_MS = 1000;

/**
 * Whether the session is one, or a proxy lets many clients share a backend. Such a proxy gives itself away by one backend that answers to two clients, or by two that
 * answer to one.
 * @throws LockOptionsError if it does.
 */
export async function checkUnpooled(
  name: string,
  session: Session,
  openProbe: () => Session,
  timers: Timers,
): Promise<void> {
  const pid = (await session.pid()) ?? '';
  session.pin(pid);
  // A server tells its own number when connecting, a proxy makes one up.
  if (String(session.client.processID) === pid) return;
  const probe = openProbe();
  try {
    await probe.connect();
    for (let round = 0; round < ROUNDS; round++) {
      const other = await orSilence(probe.pid(), timers);
      if (other === 'silence') return;
      if (other === pid || (await session.pid()) !== pid) throw pooled(name);
    }
  } finally {
    await probe.close(new Error('probed'), PATIENCE_MS);
  }
}

function pooled(name: string): LockOptionsError {
  const remedy =
    'a proxy that pools by transaction stands in between (pgbouncer, for instance), and a lock would belong to whoever comes next. ' +
    "Connect to the server itself or to a session pool, or give `mode: 'transaction'`.";
  return new LockOptionsError('store', name, remedy);
}

function orSilence<T>(answer: Promise<T>, timers: Timers): Promise<T | 'silence'> {
  return new Promise((resolve, reject) => {
    const cancel = timers.start(() => resolve('silence'), PATIENCE_MS, true);
    answer.then(resolve, reject).finally(cancel);
  });
}
