import { describe, expect, it, jest } from '@jest/globals';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { MemoryStore } from 'nestjs-fenced-lock';
import { LockingTestingModule } from 'nestjs-fenced-lock/testing';
import { cleanup } from '../cleanup.js';
import type { Snippets } from '../snippets.js';

export function firstExample(snippets: Snippets): void {
  describe('the first example', () => {
    const afterwards = cleanup();
    const example = snippets.claim('billing with token');

    async function application(provider: Type, store: MemoryStore): Promise<INestApplicationContext> {
      const module = await Test.createTestingModule({
        imports: [LockingTestingModule.forRoot({ store })],
        providers: [provider],
      }).compile();
      afterwards(() => module.close());
      return module.init();
    }

    it('fits on a screen, in at most twelve lines', () => {
      expect(example.code.trim().split('\n').length).toBeLessThanOrEqual(12);
      expect(snippets.text.indexOf(example.code)).toBe(snippets.text.indexOf('```ts\n') + '```ts\n'.length);
    });

    it('bills in one pod when several tick', async () => {
      const { BillingService } = await example.load<{ BillingService: Type<{ bill(): Promise<void> }> }>();
      const log = jest.spyOn(console, 'log').mockReturnValue();
      afterwards(async () => log.mockRestore());
      const store = new MemoryStore();
      const pods = [await application(BillingService, store), await application(BillingService, store)];

      await Promise.all(pods.map((pod) => pod.get<{ bill(): Promise<void> }>(BillingService).bill()));

      const { fencingToken } = await store.inspect('job:billing');
      expect(log.mock.calls).toEqual([[`billing with token ${fencingToken}`]]);
    });
  });
}
