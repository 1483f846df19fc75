/**
 * The tables, as SQL for a migration of your own. Without one they are made at the first connection, in the first schema of the search path.
 *
 * Old rows of the first are deleted by the module; the others stay a handful.
 */
export function schemaSql(): string {
  return `-- One row per key: the last fencing token, and until when a released key stays taken.
create table if not exists distributed_lock_fence (
  id bigint primary key,
  key text not null,
  token bigint not null,
  owner text,
  kept_until timestamptz
) with (fillfactor = 70);

-- One row: which store decides who holds a key, if Postgres stands in for Redis.
create table if not exists distributed_lock_authority (
  id int primary key check (id = 1),
  state text not null check (state in ('REDIS', 'DRAINING', 'POSTGRES', 'BOTH')),
  epoch bigint not null,
  reason text not null,
  lease_ms bigint not null,
  ttl_ms bigint not null,
  token_floor bigint not null,
  token_lead bigint not null,
  token_ceiling bigint not null
);

-- One row per process: what it sees of Redis.
create table if not exists distributed_lock_pod (
  pod text primary key,
  redis text not null check (redis in ('up', 'down', 'unsure')),
  seen_at timestamptz not null,
  counts_until timestamptz not null
);
`;
}

export const TABLES = ['distributed_lock_fence', 'distributed_lock_authority', 'distributed_lock_pod'] as const;
