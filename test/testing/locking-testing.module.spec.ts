import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockBusyError, LockManager, LockSignal, MemoryStore, WithLock } from 'nestjs-fenced-lock';
import { eventually } from '../support/eventually.js';
import { LockingTestingModule, ManualRuntime, TestLocks, testLocksToken, withLocks } from 'nestjs-fenced-lock/testing';

@Injectable()
class BillingService {
  @WithLock('job:billing')
  async bill(): Promise<string> {
    return 'billed';
  }

  @WithLock('job:report', { ttl: '10s' })
  async report(@LockSignal() signal?: AbortSignal): Promise<string> {
    return new Promise((resolve) => signal!.addEventListener('abort', () => resolve('stopped')));
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

  describe('gives the test', () => {
    async function start(options: Parameters<typeof LockingTestingModule.forRoot>[0] = {}) {
      const app = await Test.createTestingModule({
        imports: [LockingTestingModule.forRoot(options), LockingTestingModule.forRoot({ name: 'second' })],
        providers: [BillingService],
      }).compile();
      return { app, service: app.get(BillingService), locks: app.get(TestLocks) };
    }

    it('the part of another pod', async () => {
      const { app, service, locks } = await start();
      const elsewhere = await locks.holdElsewhere('job:billing');
      await expect(service.bill()).rejects.toThrow(LockBusyError);
      await elsewhere.release();
      await expect(service.bill()).resolves.toBe('billed');
      const ofSecond = app.get<TestLocks>(testLocksToken('second'));
      await using _ = await ofSecond.holdElsewhere('job:billing');
      await expect(service.other()).rejects.toThrow(LockBusyError);
      await expect(service.bill()).resolves.toBe('billed');
      await app.close();
    });

    it('a lock that is lost when the test says so', async () => {
      const { app, service, locks } = await start();
      const report = service.report();
      await eventually(() => locks.expectLocked('job:report'));
      await locks.loseLock('job:report');
      await expect(report).rejects.toMatchObject({ code: 'LOCK_LOST', result: 'stopped', reason: 'disconnected' });
      await locks.expectFree('job:report');
      await expect(locks.loseLock('job:report')).rejects.toThrow(/nobody holds it/);
      await app.close();
    });

    it('a clock to move', async () => {
      const clock = new ManualRuntime();
      const { app, service, locks } = await start({ clock, defaults: { wait: '5s' } });
      await using _ = await locks.holdElsewhere('job:billing');
      let refused: unknown;
      void service.bill().catch((error: unknown) => (refused = error));
      await clock.advance(4999);
      expect(refused).toBeUndefined();
      await clock.advance(1);
      expect(refused).toBeInstanceOf(LockBusyError);
      await app.close();
    });

    it('the keys that were taken, and says what is held and what is not', async () => {
      const { app, service, locks } = await start();
      expect(await locks.takenDuring(() => service.bill())).toEqual(['job:billing']);
      expect(await locks.takenDuring(() => undefined)).toEqual([]);
      await expect(locks.expectLocked('job:billing')).rejects.toThrow(/"job:billing" was expected to be held/);
      await using _ = await locks.holdElsewhere('job:billing');
      await locks.expectLocked('job:billing');
      await expect(locks.expectFree('job:billing')).rejects.toThrow(/"job:billing" was expected to be free/);
      await app.close();
    });

    it('no lock to lose in a store of its own', async () => {
      const { app, locks } = await start({ store: new MemoryStore() });
      await expect(locks.loseLock('job:billing')).rejects.toThrow(/store of the module/);
      await app.close();
    });

    it('locks for an instance that Nest did not make', async () => {
      await expect(new BillingService().bill()).rejects.toMatchObject({ code: 'LOCK_OPTIONS' });
      await expect(withLocks(new BillingService()).bill()).resolves.toBe('billed');
      const store = new MemoryStore();
      await using _ = await new LockManager(store).acquire('job:billing');
      const service = withLocks(new BillingService(), new LockManager(store), 'second');
      await expect(service.other()).rejects.toThrow(LockBusyError);
    });
  });
});
