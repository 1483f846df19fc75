import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockBusyError, LockManager, MemoryStore } from 'nestjs-fenced-lock';
import { ManualRuntime } from 'nestjs-fenced-lock/testing';
import type { Snippets } from '../snippets.js';

export function accountService(snippets: Snippets): void {
  describe('the AccountService', () => {
    interface AccountService {
      transfer(from: string, to: string, move: (token: number) => Promise<void>): Promise<void>;
      close(id: string): Promise<void>;
      audit(): Promise<string>;
    }
    const service = snippets.claim('class AccountService');

    async function start() {
      const { AccountService } = await service.load<{ AccountService: Type<AccountService> }>();
      const runtime = new ManualRuntime();
      const store = new MemoryStore(runtime);
      const module = await Test.createTestingModule({
        providers: [AccountService, { provide: LockManager, useValue: new LockManager(store, {}, runtime) }],
      }).compile();
      return { accounts: module.get(AccountService), elsewhere: new LockManager(store, {}, runtime), runtime, store };
    }

    it('transfers under both keys, with one token', async () => {
      const { accounts, store } = await start();
      let seen: unknown;

      await accounts.transfer('b', 'a', async (token) => {
        const states = await Promise.all(['account:a', 'account:b'].map((key) => store.inspect(key)));
        seen = states.map(({ locked, fencingToken }) => [locked, fencingToken === token]);
      });

      const both = [true, true];
      expect(seen).toEqual([both, both]);
      expect(await Promise.all(['account:a', 'account:b'].map((key) => store.inspect(key)))).toEqual([
        { locked: false },
        { locked: false },
      ]);
    });

    it('closes an account and gives the lock back; a busy one makes it give up after five seconds', async () => {
      const { accounts, elsewhere, runtime, store } = await start();
      await accounts.close('a');
      expect(await store.inspect('account:a')).toEqual({ locked: false });

      await using _ = await elsewhere.acquire('account:a');
      let outcome: unknown = 'waiting';
      const closing = accounts.close('a').catch((error: unknown) => (outcome = error));
      await runtime.advance(4_900);
      expect(outcome).toBe('waiting');
      await runtime.advance(200);
      await closing;
      expect(outcome).toBeInstanceOf(LockBusyError);
    });

    it('audits, or hears that someone else does', async () => {
      const { accounts, elsewhere, store } = await start();
      expect(await accounts.audit()).toBe('done');
      expect(await store.inspect('job:audit')).toEqual({ locked: false });

      await using _ = await elsewhere.acquire('job:audit');
      expect(await accounts.audit()).toBe('someone else is at it');
    });
  });
}
