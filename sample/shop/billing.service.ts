import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { FencingToken, StaleTokenError, WithLock } from 'nestjs-fenced-lock';
import { Database } from '../database/database.js';
import { Journal } from './journal.js';
import { monthAt, nameOf } from './month.js';
import { Partners } from './partners.js';
import { PodName } from './pod-name.js';

const WRITE = `
  WITH mine AS (SELECT id FROM jobs WHERE id = 'billing' AND fence = $1 FOR UPDATE)
  INSERT INTO invoices (month, account, pod, token) SELECT $2::bigint, accounts.id, $3::text, $1::bigint FROM accounts, mine
  RETURNING account`;

@Injectable()
export class BillingService {
  constructor(
    private readonly database: Database,
    private readonly partners: Partners,
    private readonly journal: Journal,
    private readonly pod: PodName,
  ) {}

  /**
   * Every pod ticks, one bills; the others find the lock taken and skip. `minHold` keeps it taken for half a month after it was
   * granted, though billing is over much sooner: a pod whose clock is a little behind would otherwise bill the same month again.
   * `threshold` lets a busy pod tick late rather than never, by less than `minHold` covers.
   */
  @Cron('*/2 * * * * *', { name: 'billing', disabled: true, threshold: 900 })
  @WithLock('job:billing', { minHold: '1s' })
  async bill(@FencingToken() token: number): Promise<void> {
    const month = monthAt(Date.now());
    const claim = "UPDATE jobs SET fence = $1 WHERE id = 'billing' AND fence <= $1 RETURNING id";
    const { rows } = await this.database.query(claim, [token]);
    if (rows.length === 0) throw new StaleTokenError('job:billing', token);

    await this.partners.ask('mail the invoices');

    const invoices = await this.database.query(WRITE, [token, month, this.pod.value]);
    if (invoices.rows.length === 0) throw new StaleTokenError('job:billing', token);
    this.journal.write(`tick of ${nameOf(month)}: ${invoices.rows.length} accounts billed`, token);
  }
}
