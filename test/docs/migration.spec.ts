import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Provider, Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { LockManager, MemoryStore, type Lock, type LockStore } from 'nestjs-fenced-lock';
import { LockingTestingModule, TestLocks } from 'nestjs-fenced-lock/testing';
import { RedisServer } from '../support/redis-server.js';
import { cleanup } from './cleanup.js';
import { root, typeErrors } from './compiler.js';
import { Snippets } from './snippets.js';

const snippets = new Snippets(readFileSync(join(root, 'docs/migration.md'), 'utf8'), join(root, 'test/tmp'));

describe('the page on coming from another package', () => {
  const afterwards = cleanup();
  let app: TestingModule;

  beforeAll(() => snippets.write());
  afterAll(() => snippets.remove());

  async function start<T>(provider: Type<T>): Promise<{ service: T; locks: LockManager; others: TestLocks }> {
    const imports = [LockingTestingModule.forRoot()];
    app = await Test.createTestingModule({ imports, providers: [provider as Provider] }).compile();
    afterwards(() => app.close());
    return { service: app.get(provider), locks: app.get(LockManager), others: app.get(TestLocks) };
  }

  it('has snippets that type-check', () => {
    expect(typeErrors([...snippets.paths])).toEqual([]);
  });

  it('locks two accounts as redlock does', async () => {
    interface Transfers {
      transfer(debit: () => Promise<void>, credit: () => Promise<void>): Promise<void>;
    }
    const loaded = await snippets.claim('class Transfers').load<{
      Transfers: Type<Transfers>;
      locksOn(...urls: string[]): { providers?: unknown[] };
    }>();
    expect(loaded.locksOn('redis://a', 'redis://b', 'redis://c').providers).not.toHaveLength(0);
    const { service, locks, others } = await start(loaded.Transfers);
    const seen: boolean[] = [];
    const note = async (): Promise<void> => {
      for (const key of ['account:1', 'account:2']) seen.push(await locks.isLocked(key));
    };
    await service.transfer(note, note);
    expect(seen).toEqual([true, true, true, true]);

    const lost = service.transfer(() => others.loseLock('account:1'), note);
    await expect(lost).rejects.toMatchObject({ code: 'LOCK_LOST' });
    expect(seen).toHaveLength(4);
  });

  it('writes pages while it holds, as with the mutex of redis-semaphore', async () => {
    const { Reports } = await snippets
      .claim('class Reports')
      .load<{ Reports: Type<{ write(next: () => Promise<boolean>): Promise<boolean> }> }>();
    const { service, others } = await start(Reports);
    let left = 3;
    expect(await service.write(async () => --left > 0)).toBe(true);
    expect(left).toBe(0);

    left = 3;
    const elsewhere = await others.holdElsewhere('report');
    expect(await service.write(async () => --left > 0)).toBe(false);
    expect(left).toBe(3);
    await elsewhere.release();

    expect(await service.write(() => others.loseLock('report').then(() => --left > 0))).toBe(false);
    expect(left).toBe(2);
  });

  it('pays each order once, under the key that murlock would make', async () => {
    const { PaymentService } = await snippets
      .claim('class PaymentService')
      .load<{ PaymentService: Type<{ pay(order: { id: string }): Promise<string> }> }>();
    const { service, others } = await start(PaymentService);
    expect(await others.takenDuring(() => service.pay({ id: '7' }))).toEqual(['PaymentService:pay:7']);
    await expect(service.pay({} as never)).rejects.toMatchObject({ code: 'LOCK_OPTIONS' });
  });

  describe('coming from @nestjs/locks', () => {
    it('exports invoices by the clock, and at once', async () => {
      const { InvoiceExport } = await snippets.claim('class InvoiceExport').load<{
        InvoiceExport: Type<{
          export(): Promise<number>;
          exportNow(write: (token: number) => Promise<void>): Promise<void>;
        }>;
      }>();
      const { service, locks } = await start(InvoiceExport);
      const tokens: number[] = [];
      await service.exportNow(async (token) => void tokens.push(token));
      tokens.push(await service.export());
      expect(tokens[1]!).toBeGreaterThan(tokens[0]!);
      // Still within `minHold` of the tick before.
      expect(await locks.isLocked('invoices:export')).toBe(true);
      expect(await service.export()).toBeUndefined();
    });

    it('may keep it, on a store of ours', async () => {
      const { RedisLocks } = await snippets.claim('class RedisLocks').load<{
        RedisLocks: { open(storage: object, nodes: string[]): Promise<{ onApplicationShutdown(): Promise<void> }> };
      }>();
      const server = await RedisServer.start();
      afterwards(() => server.stop());
      let source: LockStore | undefined;
      const storage = { registerSource: (store: LockStore) => (source = store) };
      const locks = await RedisLocks.open(storage, [server.url]);
      afterwards(() => locks.onApplicationShutdown());
      expect(await source!.acquire('a', 'one', 1000)).toEqual({ acquired: true, fencingToken: expect.any(Number) });
      expect(await source!.acquire('a', 'two', 1000)).toMatchObject({ acquired: false });
      expect([await source!.renew('a', 'one', 1000), await source!.renew('a', 'two', 1000)]).toEqual([true, false]);
      expect(await source!.release('a', 'one')).toBe(true);
    });
  });

  describe('in the release in between', () => {
    type Work<T> = () => Promise<T>;
    type Pod = (work: Work<void>) => Promise<unknown>;
    let inside: number;
    let most: number;
    let entered: () => void;
    let end: Promise<void>;
    let finish: () => void;

    beforeEach(() => {
      [inside, most] = [0, 0];
      end = new Promise((resolve) => (finish = resolve));
    });
    afterEach(() => finish());

    async function pods(): Promise<Record<'before' | 'between' | 'after', Pod>> {
      const { underBoth } = await snippets.claim('function underBoth').load<{
        underBoth<T>(
          old: (work: Work<T>) => Promise<T>,
          locks: LockManager,
          key: string,
          work: (lock: Lock) => Promise<T>,
        ): Promise<T>;
      }>();
      let taken = false;
      const old = async <T>(work: Work<T>): Promise<T> => {
        if (taken) throw new Error('busy');
        taken = true;
        return work().finally(() => (taken = false));
      };
      const store = new MemoryStore();
      return {
        before: (work) => old(work),
        between: (work) => underBoth(old, new LockManager(store), 'a', work),
        after: (work) => new LockManager(store).withLock('a', work),
      };
    }

    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      entered();
      await end;
      inside--;
    };

    it('excludes pods of the release before and of the one after', async () => {
      const { before, between, after } = await pods();
      for (const [first, second] of [
        [before, between],
        [between, before],
        [between, after],
        [after, between],
        [between, between],
      ] as const) {
        end = new Promise((resolve) => (finish = resolve));
        const started = new Promise<void>((resolve) => (entered = resolve));
        const running = first(work);
        await started;
        await expect(second(work)).rejects.toThrow(/busy|held by someone else/);
        finish();
        await running;
      }
      expect(most).toBe(1);
    });
  });

  it('has each snippet run by exactly one of these tests', () => {
    expect(snippets.claims).toEqual(snippets.blocks.map(() => 1));
  });
});
