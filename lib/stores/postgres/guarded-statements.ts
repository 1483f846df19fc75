import { ALONE } from './lock-id.js';
import { CLOCK } from './lock-statements.js';
import type { Statement } from './session.js';

/**
 * The authority row, as it is and stays until the statement is done: a change waits for the lock on the row, and where one was under way, this waits, and then
 * sees what became of it. `permitted` has a row only in the wanted state, and what follows takes its locks only for a row of it.
 */
const authority = (condition: string): string => `
authority as materialized (select state, epoch, token_ceiling from distributed_lock_authority where id = 1 for share),
permitted as materialized (select token_ceiling from authority where ${condition})`;

/** A lock whose fence was refused, or that could not be made alone, is given back at once. */
const outcome = (had: string): string => `
select exists (select from permitted) as permitted,
  coalesce((select got from marked), true) as marked,
  (select token from fence where (select got from marked)) as token,
  case when (select got from taken) and not ${had} and not coalesce((select got from marked), false)
    then pg_advisory_unlock($1::bigint) end as undone,
  case when not exists (select from fence) then (
    select ceil(extract(epoch from kept_until - clock_timestamp()) * 1000)
    from distributed_lock_fence where id = $1::bigint
  ) end as kept_ms`;

/** $1 id, $2 readable key, $3 owner, $4 state. */
export const ACQUIRE_UNDER: Statement = {
  name: 'lock_acquire_under',
  text: `
with ${authority('state = $4::text')},
taken as materialized (select token_ceiling, pg_try_advisory_lock($1::bigint) as got from permitted),
fence as (
  insert into distributed_lock_fence as fence (id, key, owner, token)
  select $1::bigint, $2::text, $3::text, greatest(${CLOCK}, token_ceiling + 1) from taken where got
  on conflict (id) do update
    set token = greatest(fence.token + 1, excluded.token), key = excluded.key, owner = excluded.owner, kept_until = null
    where fence.kept_until is null or fence.kept_until <= clock_timestamp()
  returning token
),
marked as materialized (
  select case when $4::text = 'POSTGRES' then pg_try_advisory_lock_shared(${ALONE}) else true end as got from fence
)
${outcome('false')}`,
};

/** $1 id, $2 readable key, $3 owner, $4 epoch, $5 token, $6 whether this owner has the lock here, $7 alone. */
export const CARRY: Statement = {
  name: 'lock_carry',
  text: `
with ${authority("state = 'DRAINING' and epoch = $4::bigint")},
taken as materialized (
  select case when $6::boolean then true else pg_try_advisory_lock($1::bigint) end as got from permitted
),
fence as (
  insert into distributed_lock_fence as fence (id, key, owner, token)
  select $1::bigint, $2::text, $3::text, $5::bigint from taken where got
  on conflict (id) do update
    set token = greatest(fence.token, excluded.token), key = excluded.key, owner = excluded.owner, kept_until = null
    where fence.kept_until is null or fence.kept_until <= clock_timestamp()
  returning token
),
marked as materialized (
  select case when $7::boolean then true else pg_try_advisory_lock_shared(${ALONE}) end as got from fence
)
${outcome('$6::boolean')}`,
};

/** No row: in another state. Refused only while a change to REDIS looks whether anything is alone. */
export const BECOME_ALONE: Statement = {
  name: 'lock_become_alone',
  text: `
with ${authority("state = 'POSTGRES'")}
select case when $1::boolean then true else pg_try_advisory_lock_shared(${ALONE}) end as marked from permitted`,
};

export const DROP_ALONE: Statement = {
  name: 'lock_drop_alone',
  text: `select pg_advisory_unlock_shared(${ALONE}) as dropped`,
};
