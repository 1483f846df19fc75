import type { Authority, AuthorityState, PodReport } from '../failover/authority.js';
import { ALONE } from './lock-id.js';
import { CLOCK } from './lock-statements.js';
import type { Row } from './pg-client.js';
import type { Session, Statement } from './session.js';

/** How far above all that is known the ceiling of Redis's tokens is put, in µs. It is lifted when half of that is used up. */
const HEADROOM = 60_000_000;
/** What a process that has gone leaves behind. */
const FORGET_PODS = "interval '1 hour'";
/** Another process may make the row at the same moment. */
const TRIES = 3;

const COLUMNS = 'state, epoch, reason, lease_ms, ttl_ms, token_floor, token_lead, token_ceiling';
const POD_COUNTS = `
select count(*) as pods, count(*) filter (where redis = 'down') as down, count(*) filter (where redis = 'up') as up`;

/**
 * The row is written only where it must change: every process asks every other second, and grants wait for whoever writes.
 * $1 pod, $2 redis, $3 counts for, $4 lease, $5 ttl, $6 highest token.
 */
const CONSULT: Statement = {
  name: 'lock_consult',
  text: `
with reported as (
  insert into distributed_lock_pod as pod (pod, redis, seen_at, counts_until)
  values ($1::text, $2::text, clock_timestamp(), clock_timestamp() + $3::float8 * interval '1 ms')
  on conflict (pod) do update set redis = excluded.redis, seen_at = excluded.seen_at, counts_until = excluded.counts_until
),
forgotten as (
  delete from distributed_lock_pod where pod in (
    select pod from distributed_lock_pod where counts_until < clock_timestamp() - ${FORGET_PODS} and pod <> $1::text
    for update skip locked
  )
),
seen as materialized (select ${COLUMNS} from distributed_lock_authority where id = 1),
known as materialized (
  select greatest($6::bigint, ${CLOCK} + coalesce((select token_lead from seen), 0)) as token
),
made as (
  insert into distributed_lock_authority (id, ${COLUMNS})
  select 1, 'REDIS', 1, 'nothing has happened yet', $4::bigint, $5::bigint, 0, 0, token + ${HEADROOM}
  from known where not exists (select from seen)
  on conflict do nothing
  returning ${COLUMNS}
),
lifted as (
  update distributed_lock_authority as authority set
    lease_ms = greatest(lease_ms, $4::bigint),
    ttl_ms = greatest(ttl_ms, $5::bigint),
    token_ceiling = case when state = 'REDIS'
      then greatest(token_ceiling, token_floor + ${HEADROOM}, known.token + ${HEADROOM}) else token_ceiling end
  from known
  where id = 1 and (
    lease_ms < $4::bigint or ttl_ms < $5::bigint
    or (state = 'REDIS' and token_ceiling < greatest(token_floor, known.token) + ${HEADROOM / 2})
  )
  returning ${COLUMNS}
),
now as (
  select * from lifted
  union all select * from made
  union all select * from seen where not exists (select from lifted)
),
pods as (
  ${POD_COUNTS} from (
    select redis from distributed_lock_pod where pod <> $1::text and counts_until > clock_timestamp()
    union all select $2::text
  ) as pod
)
select * from now cross join pods`,
};

/**
 * Several statements, each with a look of its own at the tables, in one transaction that needs no word from us in between:
 * first the row is locked, so that nothing tied to it is under way; then the mark of what is alone, which keeps others from taking it; and only what can be seen
 * after that counts. The server gives a session its own mark again, so it is looked up.
 */
function moving(epoch: number, to: AuthorityState, reason: string): Statement {
  const mark = (mode: string): string => `exists (
    select from pg_locks where pid = pg_backend_pid() and locktype = 'advisory' and objsubid = 1 and mode = '${mode}'
      and granted and ((classid::bigint << 32) | objid::bigint) = ${ALONE}
  )`;
  const change = `state = '${to}', epoch = epoch + 1, reason = ${literal(reason)}`;
  const toRedis = `
select pg_try_advisory_xact_lock(${ALONE}) from distributed_lock_authority where id = 1 and epoch = ${epoch};
with fences as materialized (
  select max(token) as highest, coalesce(bool_or(kept_until > clock_timestamp()), false) as kept from distributed_lock_fence
),
back as materialized (
  select case when state = 'BOTH' then greatest(token_floor, token_ceiling, highest) else token_floor end as floor
  from distributed_lock_authority, fences
  where id = 1 and epoch = ${epoch} and (state <> 'BOTH' or not kept)
    and ${mark('ExclusiveLock')} and not ${mark('ShareLock')}
)
update distributed_lock_authority set ${change}, token_floor = floor,
  token_lead = case when state = 'BOTH' then greatest(0, floor - ${CLOCK}) else token_lead end
from back where id = 1;`;
  const elsewhere = `
update distributed_lock_authority set ${change} where id = 1 and epoch = ${epoch};`;
  return {
    text: `
select from distributed_lock_authority where id = 1 for update;
${to === 'REDIS' ? toRedis : elsewhere}
select ${COLUMNS}, pods.* from distributed_lock_authority cross join (
  ${POD_COUNTS} from distributed_lock_pod where counts_until > clock_timestamp()
) as pods where id = 1`,
  };
}

/** Reports, and reads the row; makes it if there is none. */
export async function consult(session: Session, report: PodReport): Promise<Authority> {
  const { pod, redis, countsForMs, leaseMs, ttlMs, tokenSeen } = report;
  for (let tried = 0; tried < TRIES; tried++) {
    const [row] = await session.ask(CONSULT, [pod, redis, ...[countsForMs, leaseMs, ttlMs, tokenSeen].map(Math.ceil)]);
    if (row) return toAuthority(row);
  }
  throw new Error('the authority row could be neither read nor made');
}

/** Changes the state if it may, and reads the row. */
export async function move(session: Session, epoch: number, to: AuthorityState, reason: string): Promise<Authority> {
  const [row] = await session.ask(moving(epoch, to, reason));
  if (!row) throw new Error('the authority row is gone');
  return toAuthority(row);
}

function toAuthority(row: Row): Authority {
  const number = (column: string): number => Number(row[column]);
  return {
    state: row['state'] as AuthorityState,
    epoch: number('epoch'),
    reason: row['reason'] ?? '',
    leaseMs: number('lease_ms'),
    ttlMs: number('ttl_ms'),
    tokenFloor: number('token_floor'),
    tokenLead: number('token_lead'),
    tokenCeiling: number('token_ceiling'),
    pods: { all: number('pods'), down: number('down'), up: number('up') },
  };
}

/** Text that no quoting rule of the server's settings can take for anything else. */
function literal(text: string): string {
  return `convert_from(decode('${Buffer.from(text.replaceAll('\0', ''), 'utf8').toString('hex')}', 'hex'), 'UTF8')`;
}
