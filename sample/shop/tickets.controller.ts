import { Body, ConflictException, Controller, Param, Post } from '@nestjs/common';
import { FencingToken, StaleTokenError, WithLock } from 'nestjs-fenced-lock';
import { Database } from '../database/database.js';
import { Journal } from './journal.js';
import { Partners } from './partners.js';

@Controller('tickets')
export class TicketsController {
  constructor(
    private readonly database: Database,
    private readonly partners: Partners,
    private readonly journal: Journal,
  ) {}

  /** One buyer at a time per ticket: whoever comes while a purchase is going on gets 409 with Retry-After, and is not charged. */
  @Post(':id/purchase')
  @WithLock('ticket:{0}')
  async purchase(
    @Param('id') id: string,
    @Body('buyer') buyer: string,
    @FencingToken() token: number,
  ): Promise<{ ticket: string; buyer: string }> {
    // Claim before the first read: from here on, nobody with an older token can write to this ticket.
    const { rows } = await this.database.query<{ buyer: string | null }>(
      'UPDATE tickets SET fence = $1 WHERE id = $2 AND fence <= $1 RETURNING buyer',
      [token, id],
    );
    const [ticket] = rows;
    if (!ticket) throw new StaleTokenError(`ticket:${id}`, token);
    if (ticket.buyer !== null) throw new ConflictException(`Ticket ${id} is sold.`);

    this.journal.write(`ticket ${id}: charging ${buyer}`, token);
    await this.partners.ask('charge the card');

    // Another fence than ours means that a later holder has claimed the ticket meanwhile.
    const sold = await this.database.query('UPDATE tickets SET buyer = $3 WHERE id = $2 AND fence = $1 RETURNING id', [
      token,
      id,
      buyer,
    ]);
    if (sold.rows.length === 0) throw new StaleTokenError(`ticket:${id}`, token);
    this.journal.write(`ticket ${id}: sold to ${buyer}`, token);
    return { ticket: id, buyer };
  }
}
