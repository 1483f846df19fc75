import type { AdvisoryId } from './lock-id.js';
import { CLOCK } from './lock-statements.js';
import type { Statement } from './session.js';

/** As one simple query, since a proxy may give the next one to another backend until the transaction has begun. */
export function begin(lock: AdvisoryId, idleLimitMs: number): Statement {
  return {
    text: `begin isolation level read committed; ${idleLimit(idleLimitMs).text};
select pg_try_advisory_xact_lock(${lock}) as got, pg_backend_pid() as pid`,
  };
}

export function idleLimit(ms: number): Statement {
  return { text: `set local idle_in_transaction_session_timeout = ${ms}` };
}

export const COMMIT: Statement = { text: 'commit' };

/** On another connection, while the lock is held: what stands in the lock's own transaction, nobody sees before its end. */
export const TOKEN: Statement = {
  text: `
with fence as (
  insert into distributed_lock_fence as fence (id, key, owner, token) values ($1::bigint, $2::text, $3::text, ${CLOCK})
  on conflict (id) do update
    set token = greatest(fence.token + 1, excluded.token), key = excluded.key, owner = excluded.owner, kept_until = null
    where fence.kept_until is null or fence.kept_until <= clock_timestamp()
  returning token
)
select (select token from fence) as token,
  case when not exists (select from fence) then (
    select ceil(extract(epoch from kept_until - clock_timestamp()) * 1000)
    from distributed_lock_fence where id = $1::bigint
  ) end as kept_ms`,
};

export const KEEP: Statement = {
  text: `
insert into distributed_lock_fence as fence (id, key, owner, token, kept_until)
values ($1::bigint, $2::text, $3::text, ${CLOCK}, clock_timestamp() + $4::float8 * interval '1 ms')
on conflict (id) do update set kept_until = excluded.kept_until`,
};
