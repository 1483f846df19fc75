import { Controller, Post } from '@nestjs/common';
import { FencingToken, StaleTokenError, WithLock } from 'nestjs-fenced-lock';
import { Database } from '../database/database.js';
import { Partners } from './partners.js';

@Controller('jobs')
export class JobsController {
  constructor(
    private readonly database: Database,
    private readonly partners: Partners,
  ) {}

  /** Takes as long as the warehouse needs; its lock is renewed all the while, wherever locks are decided by then. */
  @Post('long')
  @WithLock('job:long')
  async long(@FencingToken() token: number): Promise<{ token: number }> {
    await this.partners.ask('count the stock', { token });

    const write = "UPDATE jobs SET fence = $1 WHERE id = 'long' AND fence <= $1 RETURNING id";
    const { rows } = await this.database.query(write, [token]);
    if (rows.length === 0) throw new StaleTokenError('job:long', token);
    return { token };
  }

  @Post('short')
  @WithLock('job:short', { wait: '1s' })
  async short(@FencingToken() token: number): Promise<{ token: number }> {
    await this.partners.ask('check a price', { token });
    return { token };
  }
}
