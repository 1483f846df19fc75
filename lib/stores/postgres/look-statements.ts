import type { Statement } from './session.js';

/** Where processes are told to give a lock back. Not where releases are told: that wakes all who listen. */
const FORCE_CHANNEL = 'distributed_lock_force';
/** Rows of the table that one question goes over: a few ms, in which renewals have to wait. */
const BATCH = 5000;

/** Advisory locks on one 64-bit number, which show it as two halves. */
const advisory = (mode: 'ExclusiveLock' | 'ShareLock'): string => `
  select ((classid::bigint << 32) | objid::bigint) as id, pid from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted and mode = '${mode}'
    and database = (select oid from pg_database where datname = current_database())`;

const KEPT_MS = 'ceil(extract(epoch from kept_until - clock_timestamp()) * 1000)';

/** $1: the id of the lock, $2: that of its waiters. */
export const INSPECT: Statement = {
  name: 'lock_inspect',
  text: `
select token, owner, ${KEPT_MS} as kept_ms,
  exists (select from (${advisory('ExclusiveLock')}) as held where held.id = asked.id) as locked,
  (select count(*) from (${advisory('ShareLock')}) as waiting where waiting.id = $2::bigint) as waiters
from (values ($1::bigint)) as asked (id) left join distributed_lock_fence using (id)`,
};

/**
 * $1: the id to go on after, $2: what keys begin with, $3: how many at most. One row at least, which says how far it went. Every lock that was granted has a row in the
 * table; a key that is kept has only that.
 */
export const LIST: Statement = {
  name: 'lock_list',
  text: `
with batch as materialized (
  select id, key, owner, token, kept_until from distributed_lock_fence where id > $1::bigint order by id limit ${BATCH}
),
held as materialized (${advisory('ExclusiveLock')}),
found as (
  select id, key, owner, token, ${KEPT_MS} as kept_ms, id in (select id from held) as locked from batch
  where starts_with(key, $2::text) and (kept_until > clock_timestamp() or id in (select id from held))
  order by id limit $3::int
)
select found.*, seen.last, seen.more
from (select max(id) as last, count(*) = ${BATCH} as more from batch) as seen left join found on true
order by found.id`,
};

/** $1: the id of the lock, $2: that of its waiters. A row: it was kept past its release, and no longer is. */
export const KEEP_NO_MORE: (channel: string) => Statement = (channel) => ({
  text: `
with freed as (
  update distributed_lock_fence set kept_until = null where id = $1::bigint and kept_until > clock_timestamp() returning id
)
select id, case when not pg_try_advisory_xact_lock($2::bigint) then pg_notify('${channel}', id::text) end as told
from freed`,
});

/**
 * $1: the id. A row for the session that holds the lock. It is told to give it back, since nobody else can; but if its transaction is the lock, then it holds nothing else, and is
 * ended.
 */
export const FORCE: Statement = {
  name: 'lock_force',
  text: `
select holder.pid, fence.owner,
  case when activity.state like 'idle in transaction%' then pg_terminate_backend(holder.pid)
    else pg_notify('${FORCE_CHANNEL}', holder.id::text || ' ' || coalesce(fence.owner, '')) is null end as told
from (${advisory('ExclusiveLock')}) as holder
  left join distributed_lock_fence as fence using (id) left join pg_stat_activity as activity using (pid)
where holder.id = $1::bigint`,
};

export const LISTEN_TO_FORCE: Statement = { text: `listen ${FORCE_CHANNEL}` };
