import { setTimeout } from 'node:timers/promises';
import type { Database } from '../database/database.js';
import { ACCOUNTS } from '../database/schema.js';
import { monthAt, MONTH_MS, nameOf } from '../shop/month.js';
import type { Finding } from '../stage.js';
import type { Scene } from './act.js';
import { post } from './client.js';

const ENOUGH_MONTHS = 3;

/** Every pod has the same @Cron. Lasts a few months, or until `interrupted` if that is given. */
export async function billing(
  { pods, database, stage }: Scene,
  interrupted?: Promise<void>,
): Promise<readonly Finding[]> {
  stage.act(
    `Monthly billing, a month lasts ${MONTH_MS / 1000} s${interrupted ? ', Ctrl-C ends it' : ''}`,
    "@Cron and @WithLock('job:billing') in every pod: at every tick exactly one of them bills, the others skip.",
  );
  await Promise.all(pods.map((pod) => post(pod, '/billing/start')));
  // A pod can have missed the tick that is next by now or just over, so the count begins with the one after it.
  const first = monthAt(Date.now()) + 1;
  await (interrupted ?? setTimeout((first + ENOUGH_MONTHS - 0.4) * MONTH_MS - Date.now()));
  // The tick that is next by now, or just over, may still be at work.
  const last = monthAt(Date.now()) - 1;
  const ticks = await billsPerTick(database, first, last);
  return interrupted ? summary(ticks) : ticks;
}

async function billsPerTick(database: Database, first: number, last: number): Promise<Finding[]> {
  const accounts = Object.keys(ACCOUNTS).length;
  const { rows } = await database.query<{ tick: number; bills: number; pods: string }>(
    `SELECT month::float AS tick, count(account)::integer AS bills, string_agg(DISTINCT pod, ', ') AS pods
     FROM generate_series($1::bigint, $2::bigint) AS month LEFT JOIN invoices USING (month)
     GROUP BY month ORDER BY month`,
    [first, last],
  );
  return rows.map(({ tick, bills, pods }) => ({
    check: `billing at ${nameOf(tick)}`,
    seen: bills === 0 ? 'nobody billed' : `each account billed ${bills / accounts} ×, by ${pods}`,
    ok: bills === accounts,
  }));
}

/** After a long run only the ticks that went wrong are of interest. */
function summary(ticks: readonly Finding[]): Finding[] {
  const wrong = ticks.filter(({ ok }) => !ok);
  const seen = `${ticks.length - wrong.length} of ${ticks.length}`;
  return [{ check: 'ticks billed exactly once', seen, ok: wrong.length === 0 }, ...wrong];
}
