import { course, onPostgres, type Fault } from '../fault.js';

const LASTS_MS = 4000;
const WRITES_AFTER_MS = 1000;

/** The session that has the lock. */
const TERMINATE_HOLDER = `SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND granted AND mode = 'ExclusiveLock'`;

/** What befalls a PostgreSQL that keeps locks, or stands in for Redis. */
export const POSTGRES_FAULTS: readonly Fault[] = [
  {
    id: 'pg-terminated',
    title: "the holder's session in Postgres is terminated",
    about: 'pg_terminate_backend: the key is free at once',
    fits: ({ backend }) => backend === 'postgres',
    limits: () => ['at once'],
    run: (trial) =>
      course(trial, {
        begin: async () => void (await trial.stage.admin.query(TERMINATE_HOLDER)),
        lastsMs: WRITES_AFTER_MS,
      }),
  },
  {
    id: 'pg-restarted',
    title: 'the Postgres that keeps the locks crashes and starts again',
    about: 'what the locks protect is in another one',
    fits: onPostgres,
    limits: ({ backend }) => (backend === 'postgres' ? ['at once'] : ['overlap']),
    run: (trial) => course(trial, { begin: () => trial.stage.postgres.restart(), lastsMs: WRITES_AFTER_MS }),
  },
  {
    id: 'pg-half-open',
    title: 'only the holder is cut off from Postgres, for 4 s',
    about: 'its connection stays open and nothing gets through',
    fits: onPostgres,
    limits: ({ backend }) => (backend === 'postgres' ? ['deadline'] : ['overlap']),
    run: (trial) =>
      course(trial, {
        begin: () => trial.victim.lines.postgres.blackhole(),
        lastsMs: LASTS_MS,
        heal: () => trial.pass(),
      }),
  },
  {
    id: 'pg-hung',
    title: 'the Postgres that keeps the locks hangs for 4 s',
    about: 'connections stay open, nothing is answered',
    fits: onPostgres,
    limits: ({ backend }) => (backend === 'postgres' ? ['deadline'] : ['overlap']),
    run: (trial) =>
      course(trial, {
        begin: () => trial.stage.postgres.freeze(),
        lastsMs: LASTS_MS,
        heal: async () => trial.stage.postgres.thaw(),
      }),
  },
];
