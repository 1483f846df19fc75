import type { Runtime } from '../../runtime.js';
import { CLEANING } from './lock-id.js';
import { CLOCK } from './lock-statements.js';
import type { Session, Statement } from './session.js';

const INTERVAL_MS = 3_600_000;
/** A clock-shaped token is not given again after its row was deleted, as long as the server's clock is not set back by as much. */
const RETENTION_US = 86_400_000_000;
const BATCH = 500;
const BEFORE_ALL = (-(2n ** 63n)).toString();

const CHOSEN: Statement = { text: `select pg_try_advisory_lock(${CLEANING}) as got` };

/** A row is looked at again once it is locked: a grant in between keeps it. */
const CLEAN: Statement = {
  name: 'lock_clean',
  text: `
with batch as materialized (select id from distributed_lock_fence where id > $1::bigint order by id limit ${BATCH}),
deleted as (
  delete from distributed_lock_fence as fence
  where id in (select id from batch) and token < ${CLOCK} - ${RETENTION_US}
    and (kept_until is null or kept_until <= clock_timestamp())
    and not exists (
      select from pg_locks where locktype = 'advisory' and objsubid = 1 and ((classid::bigint << 32) | objid::bigint) = fence.id
    )
  returning 1
)
select max(id) as last from batch`,
};

/** Deletes the rows of keys that nobody has locked for a day. One process of all does it, once an hour, in small steps that do not hold locks up. */
export class FenceCleaning {
  #cleaner: Session | undefined;
  #cancel: (() => void) | undefined;

  constructor(private readonly runtime: Runtime) {}

  up(session: Session): void {
    this.#schedule(session, INTERVAL_MS * this.runtime.random.fraction());
  }

  down(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  async run(session: Session): Promise<void> {
    if (this.#cleaner !== session) {
      const [row] = await session.ask(CHOSEN);
      if (row?.['got'] !== 't') return;
      this.#cleaner = session;
    }
    let last: string | null = BEFORE_ALL;
    while (last !== null) last = (await session.ask(CLEAN, [last]))[0]?.['last'] ?? null;
  }

  #schedule(session: Session, delayMs: number): void {
    this.#cancel = this.runtime.timers.start(() => {
      this.#schedule(session, INTERVAL_MS);
      this.run(session).catch(() => undefined); // the next hour is another chance
    }, delayMs);
  }
}
