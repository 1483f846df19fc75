import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockBusyError, LockManager, MemoryStore, WithLock } from 'nestjs-fenced-lock';
import { LockingTestingModule } from 'nestjs-fenced-lock/testing';

@Injectable()
class BillingService {
  @WithLock('job:billing')
  async bill(): Promise<string> {
    return 'billed';
  }
  @WithLock('job:billing', { manager: 'second' })
  async other(): Promise<string> {
    return 'other';
  }
}

describe('LockingTestingModule', () => {
  it('locks in memory, and lets the test play the other pod', async () => {
    const store = new MemoryStore();
    const app = await Test.createTestingModule({
      imports: [LockingTestingModule.forRoot({ store }), LockingTestingModule.forRoot({ name: 'second' })],
      providers: [BillingService],
    }).compile();
    const service = app.get(BillingService);
    await expect(service.bill()).resolves.toBe('billed');

    const elsewhere = await new LockManager(store).acquire('job:billing');
    await expect(service.bill()).rejects.toThrow(LockBusyError);
    await expect(service.other()).resolves.toBe('other');
    await elsewhere.release();
    await expect(service.bill()).resolves.toBe('billed');
    await app.close();
  });
});
