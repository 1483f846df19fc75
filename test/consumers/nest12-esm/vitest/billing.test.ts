import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { FencingToken, LockManager, MemoryStore, WithLock } from 'nestjs-fenced-lock';
import { defineStoreContract, LockingTestingModule, ManualRuntime, TestLocks } from 'nestjs-fenced-lock/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

@Injectable()
class BillingService {
  constructor(readonly locks: LockManager) {}

  @WithLock('job:billing')
  async bill(@FencingToken() token?: number): Promise<unknown> {
    return [typeof token, await this.locks.isLocked('job:billing')];
  }
}

describe('a service under Vitest', () => {
  let app: TestingModule;

  beforeEach(async () => {
    app = await Test.createTestingModule({
      imports: [LockingTestingModule.forRoot()],
      providers: [BillingService],
    }).compile();
  });
  afterEach(() => app.close());

  it('runs under its lock', async () => {
    await expect(app.get(BillingService).bill()).resolves.toEqual(['number', true]);
  });

  it('is refused while another pod has it', async () => {
    await using _ = await app.get(TestLocks).holdElsewhere('job:billing');
    await expect(app.get(BillingService).bill()).rejects.toMatchObject({ name: 'LockBusyError', code: 'LOCK_BUSY' });
  });
});

describe('the contract of stores under Vitest', () => {
  const runtime = new ManualRuntime();
  defineStoreContract({
    test: it,
    createStore: () => new MemoryStore(runtime),
    elapse: (ms) => runtime.advance(ms),
  });
});
