import pg from 'pg';
import type { Locker } from '../locker.js';

export interface BareOptions {
  readonly name: string;
  /** Whether lock and token are asked for in one statement. */
  readonly joined?: boolean;
  /** Whether a statement is sent before the one before it is answered. */
  readonly pipeline?: boolean;
}

const TAKE = 'select pg_try_advisory_lock(hashtextextended($1, 0)) as taken';
const GIVE_BACK = 'select pg_advisory_unlock(hashtextextended($1, 0)) as given';
const TAKE_WITH_TOKEN = raiseToken(
  'select $1, $2::bigint from (select pg_try_advisory_lock(hashtextextended($1, 0)) as taken offset 0) as lock where taken',
);
const RAISE_TOKEN = raiseToken('values ($1, $2)');

/** The least that a fenced lock on Postgres takes: an advisory lock, a token that only rises, the unlock; prepared, on one connection. */
export async function openBarePostgres(url: string, options: BareOptions): Promise<Locker> {
  const { name, joined = false, pipeline = false } = options;
  const client = new pg.Client({ connectionString: url, pipeline });
  await client.connect();
  await client.query('create table if not exists bench_fence (key text primary key, token bigint not null)');
  const inTurn = oneAfterAnother();
  const ask = async (statement: string, text: string, ...values: unknown[]): Promise<unknown> => {
    const send = () => client.query<Record<string, unknown>>({ name: statement, text, values });
    const { rows } = await (pipeline ? send() : inTurn(send));
    return Object.values(rows[0] ?? {})[0];
  };
  const take = async (key: string): Promise<unknown> => {
    const clock = Date.now() * 1000;
    if (joined) return ask('take with token', TAKE_WITH_TOKEN, key, clock);
    return (await ask('take', TAKE, key)) && ask('token', RAISE_TOKEN, key, clock);
  };

  return {
    name,
    role: 'limit',
    async lock(key, work) {
      if (!(await take(key))) throw new Error(`${key} is taken`);
      await work?.();
      if (!(await ask('give back', GIVE_BACK, key))) throw new Error(`${key} was not held`);
    },
    close: () => client.end(),
  };
}

function raiseToken(proposed: string): string {
  return `insert into bench_fence as fence (key, token) ${proposed}
    on conflict (key) do update set token = greatest(fence.token + 1, excluded.token) returning token`;
}

/** What pg asks of its callers, and no longer does for them, unless it may pipeline. */
function oneAfterAnother(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const turn = last.then(task);
    last = turn.catch(() => undefined);
    return turn;
  };
}
