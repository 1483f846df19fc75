import type { Timers } from '../../runtime.js';
import type { LockId } from './lock-id.js';
import { CHANNEL } from './lock-statements.js';
import { FORCE, KEEP_NO_MORE } from './look-statements.js';
import type { Row } from './pg-client.js';
import type { Statement } from './session.js';

type Ask = (statement: Statement, values: readonly unknown[]) => Promise<readonly Row[]>;

const FIRST_PAUSE_MS = 10;
const UNKEEP = KEEP_NO_MORE(CHANNEL);

/**
 * Takes a lock from whoever holds it. Only their own session can give it back, so it is told to, and told again, until it has. A process that does not is frozen, or cut off.
 * @throws Error within about `limitMs`, saying which session that is.
 */
export async function forceRelease(id: LockId, ask: Ask, timers: Timers, limitMs: number): Promise<boolean> {
  const wasKept = (await ask(UNKEEP, [id.lock, id.waiters])).length > 0;
  let first: Row | undefined;
  for (let pauseMs = FIRST_PAUSE_MS, waitedMs = 0; ; waitedMs += pauseMs, pauseMs *= 2) {
    const [holder] = await ask(FORCE, [id.lock]);
    if (!holder) return first !== undefined || wasKept;
    first ??= holder;
    // Somebody else has got it since.
    if (holder['owner'] !== first['owner']) return true;
    if (waitedMs >= limitMs) throw new Error(stuck(holder));
    await new Promise<void>((resolve) => timers.start(resolve, pauseMs, true));
  }
}

function stuck({ pid, owner }: Row): string {
  const who = owner ? `whose lock belongs to ${owner}` : 'whose lock is not of this module';
  return (
    `session ${pid}, ${who}, does not give it back; its process may be frozen or cut off, or too old to be told. ` +
    `It ends by itself when it was silent for long enough; select pg_terminate_backend(${pid}) ends it now, and every lock on it`
  );
}
