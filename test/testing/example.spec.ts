/** How to test what runs under a lock: a cron job, an endpoint, a service. This is written as the tests of an application are. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Injectable, Param, Post, type INestApplication } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { FencingToken, LockLostError, LockManager, WithLock } from 'nestjs-fenced-lock';
import { LockingTestingModule, TestLocks, withLocks } from 'nestjs-fenced-lock/testing';

@Injectable()
class InvoiceJob {
  readonly sent: number[] = [];

  @Cron('0 0 1 * *')
  @WithLock('job:invoices', { ttl: '1m' })
  async send(@FencingToken() token?: number): Promise<void> {
    this.sent.push(token!);
  }
}

@Injectable()
class AccountService {
  constructor(private readonly locks: LockManager) {}

  transfer(from: string, to: string, move: () => Promise<void>): Promise<string> {
    return this.locks.withLock([`account:${from}`, `account:${to}`], async (lock) => {
      await move();
      return lock.held ? 'moved' : 'stopped';
    });
  }
}

@Controller('tickets')
class TicketsController {
  @Post(':id/purchase')
  @WithLock('ticket:{0}')
  async purchase(@Param('id') id: string): Promise<string> {
    return `ticket ${id} is yours`;
  }
}

describe('an application with locks', () => {
  let app: INestApplication;
  let locks: TestLocks;
  beforeEach(async () => {
    const testing = await Test.createTestingModule({
      imports: [LockingTestingModule.forRoot(), ScheduleModule.forRoot()],
      controllers: [TicketsController],
      providers: [InvoiceJob, AccountService],
    }).compile();
    app = testing.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    locks = app.get(TestLocks);
  });
  afterEach(() => app.close());

  it('skips the cron job while another pod runs it, and runs it when it does not', async () => {
    const job = app.get(InvoiceJob);
    const elsewhere = await locks.holdElsewhere('job:invoices');
    await job.send();
    expect(job.sent).toEqual([]);
    await elsewhere.release();
    await job.send();
    expect(job.sent).toEqual([expect.any(Number)]);
    expect(job.sent[0]).toBeGreaterThan(elsewhere.fencingToken);
  });

  it('answers 409 while somebody else buys the ticket', async () => {
    const purchase = async (): Promise<number> =>
      (await fetch(`${await app.getUrl()}/tickets/7/purchase`, { method: 'POST' })).status;
    const elsewhere = await locks.holdElsewhere('ticket:7');
    expect(await purchase()).toBe(409);
    await elsewhere.release();
    expect(await purchase()).toBe(201);
  });

  it('moves money under both accounts, and stops when one of them is lost', async () => {
    const accounts = app.get(AccountService);
    const taken = await locks.takenDuring(() => accounts.transfer('a', 'b', () => locks.expectLocked('account:b')));
    expect(taken).toEqual(['account:a', 'account:b']);
    await locks.expectFree('account:a');
    const lost = accounts.transfer('a', 'b', () => locks.loseLock('account:b'));
    await expect(lost).rejects.toThrow(LockLostError);
  });

  it('needs no application for a class of its own', async () => {
    const job = withLocks(new InvoiceJob());
    await job.send();
    expect(job.sent).toHaveLength(1);
  });
});
