import { ALONE } from './lock-id.js';
import type { Statement } from './session.js';

/** The server's clock in µs, as the tokens of Redis are. */
export const CLOCK = '(extract(epoch from clock_timestamp()) * 1000000)::bigint';

/** Where releases are told to those who wait, with the id of the key's lock. */
export const CHANNEL = 'distributed_lock_free';

/**
 * The lock, and only under it the token: so two grants never read the same fence, and each reads what the one before it wrote, which had ended before its lock was
 * given back. A key that is kept past its release is refused, and its lock given back.
 * The row is locked before its `kept_until` is looked at: whoever is just releasing the key with a `keepFor` has that row first.
 */
export const ACQUIRE: Statement = {
  name: 'lock_acquire',
  text: `
with taken as materialized (select pg_try_advisory_lock($1::bigint) as got),
fence as (
  insert into distributed_lock_fence as fence (id, key, owner, token)
  select $1::bigint, $2::text, $3::text, ${CLOCK} from taken where got
  on conflict (id) do update
    set token = greatest(fence.token + 1, excluded.token), key = excluded.key, owner = excluded.owner, kept_until = null
    where fence.kept_until is null or fence.kept_until <= clock_timestamp()
  returning token
)
select (select token from fence) as token,
  case when got and not exists (select from fence) then pg_advisory_unlock($1::bigint) end as undone,
  case when not exists (select from fence) then (
    select ceil(extract(epoch from kept_until - clock_timestamp()) * 1000)
    from distributed_lock_fence where id = $1::bigint
  ) end as kept_ms
from taken`,
};

/**
 * In this order: a waiter first says that it waits, and then tries. Those of this very session do not show, and are told without the server. A notification costs a
 * write to disk, so it is sent only if someone waits. $3: whether the lock is held alone.
 */
export const RELEASE: Statement = {
  name: 'lock_release',
  text: `
with freed as materialized (select pg_advisory_unlock($1::bigint) as freed)
select freed,
  case when $3::boolean then pg_advisory_unlock_shared(${ALONE}) end as dropped,
  case when freed and not pg_try_advisory_xact_lock($2::bigint) then pg_notify('${CHANNEL}', $1::bigint::text) end as told
from freed`,
};

/** `kept_until` is written before the lock is given back, and a contender waits for the row until it is committed. */
export const RELEASE_KEEPING: Statement = {
  name: 'lock_release_keeping',
  text: `
with kept as (
  insert into distributed_lock_fence as fence (id, key, owner, token, kept_until)
  values ($1::bigint, $2::text, $3::text, ${CLOCK}, clock_timestamp() + $4::float8 * interval '1 ms')
  on conflict (id) do update set kept_until = excluded.kept_until
  returning id
)
select pg_advisory_unlock(id) as freed from kept`,
};

/** After a statement that failed: whether it had taken the lock is unknown. */
export const UNDO: Statement = { name: 'lock_undo', text: 'select pg_advisory_unlock($1::bigint)' };

export const RAISE: Statement = {
  name: 'lock_raise',
  text: `
update distributed_lock_fence set token = $3::bigint
where id = $1::bigint and owner = $2::text and token <= $3::bigint
returning token`,
};

export const LISTEN: Statement = { text: `listen ${CHANNEL}` };
/** Waiting for it could wait for ever on a foreign lock of the same number. */
export const AWAIT: Statement = { name: 'lock_await', text: 'select pg_try_advisory_lock_shared($1::bigint) as got' };
export const AWAIT_NO_MORE: Statement = {
  name: 'lock_await_no_more',
  text: 'select pg_advisory_unlock_shared($1::bigint)',
};
