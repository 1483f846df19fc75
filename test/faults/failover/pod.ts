/** One pod of these tests: a Nest application whose locks are on Redis nodes, with Postgres to stand in, and which works and reports as its parent says. */
import 'reflect-metadata';
import { Module, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { DistributedLockModule } from '../../../lib/distributed-lock.module.js';
import { LockManager } from '../../../lib/lock-manager.js';
import type { AuthorityState } from '../../../lib/stores/failover/authority.js';
import type { AuthorityChange } from '../../../lib/stores/failover/failover.options.js';
import { postgres } from '../../../lib/stores/postgres/index.js';
import { Jobs } from './jobs.js';
import { Ledger } from './ledger.js';
import type { Order, PodTerms, Report } from './messages.js';
import { MUTANTS } from './mutants.js';

const terms = JSON.parse(process.env['TERMS']!) as PodTerms;
if (terms.mutant) MUTANTS[terms.mutant]();
/** As last told: the first time before there are any jobs. */
let state: AuthorityState | undefined;

function tell(report: Report, sent: () => void = () => undefined): void {
  process.send!(report, sent);
}

function say(line: unknown): void {
  tell({ type: 'log', line: String(line) });
}

function changed(change: AuthorityChange): void {
  state = change.to;
  tell({ type: 'change', change });
}

const ms = (value: number): `${number}ms` => `${value}ms`;
@Module({
  imports: [
    DistributedLockModule.forRoot({
      nodes: terms.nodes,
      nodeTimeout: '300ms',
      fallback: postgres({
        connection: terms.postgres,
        heartbeat: '300ms',
        timeout: ms(terms.silenceMs),
        sessionTimeout: ms(300 + terms.silenceMs),
      }),
      failover: {
        policy: terms.policy,
        lease: ms(terms.leaseMs),
        failoverAfter: ms(terms.failoverAfterMs),
        returnAfter: ms(terms.returnAfterMs),
        onAuthorityChange: changed,
      },
      defaults: { ttl: ms(terms.ttlMs) },
    }),
  ],
})
class PodModule {}

const logger: LoggerService = { log: () => undefined, warn: say, error: say };
const app = await NestFactory.createApplicationContext(PodModule, { logger });
const pool = new pg.Pool({ connectionString: terms.ledger, max: 4 });
const jobs = new Jobs(app.get(LockManager), new Ledger(pool), terms.ttlMs, {
  held: (hold) => tell({ type: 'hold', hold }),
  failed: (failure) => tell({ type: 'failure', failure }),
  state: () => state,
});

async function obey(order: Order): Promise<unknown> {
  switch (order.do) {
    case 'work':
      return jobs.work(terms.shortKeys, terms.longKeys);
    case 'hold':
      return jobs.hold(order.key);
    case 'leave':
      await app.close();
      return pool.end();
    case 'rest':
    case 'look':
    case 'write':
    case 'release':
      return jobs[order.do]();
  }
}

process.on('message', (order: Order) => {
  // A failure ends this process as an unhandled rejection, which its parent notices.
  void obey(order).then((answer) => {
    // From here on only what was left behind can keep the process alive.
    tell({ type: 'done', order: order.do, answer }, () => order.do === 'leave' && process.disconnect());
  });
});
tell({ type: 'ready' });
