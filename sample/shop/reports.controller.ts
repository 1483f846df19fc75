import { Controller, Param, Post } from '@nestjs/common';
import { FencingToken, StaleTokenError, WithLock } from 'nestjs-fenced-lock';
import { Database } from '../database/database.js';
import { Journal } from './journal.js';
import { Partners } from './partners.js';
import { PodName } from './pod-name.js';

@Controller('reports')
export class ReportsController {
  constructor(
    private readonly database: Database,
    private readonly partners: Partners,
    private readonly journal: Journal,
    private readonly pod: PodName,
  ) {}

  /**
   * The slow worker. It looks at no signal on purpose: a process can be paused right after the last look, so what makes its late
   * write harmless must be in the write itself.
   */
  @Post(':id')
  @WithLock((id: string) => `report:${id}`, { wait: '20s' })
  async write(@Param('id') id: string, @FencingToken() token: number): Promise<void> {
    this.journal.write(`report ${id}: at work`, token);
    await this.partners.ask('audit the figures');

    const { rows } = await this.database.query(
      'UPDATE reports SET author = $2, fence = $1 WHERE id = $3 AND fence <= $1 RETURNING id',
      [token, this.pod.value, id],
    );
    if (rows.length === 0) {
      this.journal.write(`report ${id}: write refused, a newer token has been here`, token);
      throw new StaleTokenError(`report:${id}`, token);
    }
    this.journal.write(`report ${id}: written`, token);
  }
}
