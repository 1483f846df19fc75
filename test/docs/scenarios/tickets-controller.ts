import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockManager, MemoryStore } from 'nestjs-fenced-lock';
import { LockingTestingModule } from 'nestjs-fenced-lock/testing';
import { eventually } from '../../support/eventually.js';
import { cleanup } from '../cleanup.js';
import type { Snippets } from '../snippets.js';

/** Remembers for which keys it was asked. */
class ObservedStore extends MemoryStore {
  readonly asked: string[] = [];

  override acquire(key: string, owner: string, ttlMs: number): ReturnType<MemoryStore['acquire']> {
    this.asked.push(key);
    return super.acquire(key, owner, ttlMs);
  }
}

export function ticketsController(snippets: Snippets): void {
  describe('the TicketsController', () => {
    const afterwards = cleanup();
    const controller = snippets.claim('class TicketsController');

    async function start() {
      const { TicketsController } = await controller.load<{ TicketsController: Type }>();
      const store = new ObservedStore();
      const module = await Test.createTestingModule({
        imports: [LockingTestingModule.forRoot({ store })],
        controllers: [TicketsController],
      }).compile();
      const app = module.createNestApplication({ logger: false });
      afterwards(() => app.close());
      await app.listen(0, '127.0.0.1');
      const url = await app.getUrl();
      const post = (path: string, body = {}): Promise<Response> =>
        fetch(`${url}/tickets/${path}`, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        });
      return { post, store, elsewhere: new LockManager(store) };
    }

    it('sells a ticket, and answers 409 with Retry-After while another purchase has it', async () => {
      const { post, elsewhere } = await start();
      const sold = await post('7/purchase');
      expect([sold.status, await sold.json()]).toEqual([201, { id: '7', token: true }]);

      await using _ = await elsewhere.acquire('ticket:7');
      const refused = await post('7/purchase');
      expect(refused.status).toBe(409);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await refused.text()).not.toContain('ticket:7');
    });

    it('takes an order once the same customer is done with another', async () => {
      const { post, store, elsewhere } = await start();
      const key = 'ticket:7:customer:ada';
      const lock = await elsewhere.acquire(key);
      const ordering = post('7/orders', { customer: { id: 'ada' } });
      await eventually(() => expect(store.asked.filter((asked) => asked === key).length).toBeGreaterThan(1));
      await lock.release();

      const ordered = await ordering;
      expect([ordered.status, await ordered.json()]).toEqual([201, { id: '7', customer: 'ada' }]);
    });

    it('swaps two tickets under both keys', async () => {
      const { post, store } = await start();
      const swapped = await post('7/swap/8');
      expect([swapped.status, await swapped.json()]).toEqual([201, ['8', '7']]);
      expect(store.asked).toEqual(['ticket:7', 'ticket:8']);
    });
  });
}
