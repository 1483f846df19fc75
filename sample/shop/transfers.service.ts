import { Injectable } from '@nestjs/common';
import { LockManager, StaleTokenError } from 'nestjs-fenced-lock';
import { Database } from '../database/database.js';
import { Journal } from './journal.js';
import { Partners } from './partners.js';

export class Transfer {
  readonly from!: string;
  readonly to!: string;
  readonly amount!: number;
}

const CLAIM = 'UPDATE accounts SET fence = $1 WHERE id IN ($2, $3) AND fence <= $1 RETURNING id, balance';

/** Writes both balances or none: none if a later holder has claimed either account. */
const WRITE = `
  WITH mine AS (SELECT id FROM accounts WHERE id IN ($2, $3) AND fence = $1 ORDER BY id FOR UPDATE)
  UPDATE accounts SET balance = CASE id WHEN $2 THEN $4::integer ELSE $5::integer END
  WHERE id IN (SELECT id FROM mine) AND (SELECT count(*) FROM mine) = 2
  RETURNING id`;

@Injectable()
export class TransfersService {
  constructor(
    private readonly locks: LockManager,
    private readonly database: Database,
    private readonly partners: Partners,
    private readonly journal: Journal,
  ) {}

  /** Both accounts or neither, whatever the order they are named in: transfers in both directions cannot dead-lock. */
  transfer({ from, to, amount }: Transfer): Promise<void> {
    return this.locks.withLock(
      [`account:${from}`, `account:${to}`],
      { wait: '20s' },
      async ({ fencingToken: token }) => {
        const { rows } = await this.database.query<{ id: string; balance: number }>(CLAIM, [token, from, to]);
        const source = rows.find(({ id }) => id === from);
        const target = rows.find(({ id }) => id === to);
        if (!source || !target) throw new StaleTokenError(`account:${source ? to : from}`, token);

        await this.partners.ask('check for fraud');

        const balances = [source.balance - amount, target.balance + amount];
        const written = await this.database.query(WRITE, [token, from, to, ...balances]);
        if (written.rows.length !== 2) throw new StaleTokenError(`account:${from}`, token);
        this.journal.write(`transfer ${from} → ${to}: ${amount}`, token);
      },
    );
  }
}
