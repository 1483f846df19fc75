import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Test } from '@nestjs/testing';
import { DistributedLockModule, FencingToken, LockManager, MemoryStore, WithLock } from 'nestjs-fenced-lock';

const handled: unknown[][] = [];

@Injectable()
class Orders {
  @OnEvent('order.created')
  @WithLock('order:{0.id}')
  async created(order: { id: string }, @FencingToken() token?: number): Promise<void> {
    handled.push(['created', order.id, token]);
  }

  @WithLock('order-below:{0.id}')
  @OnEvent('order.created')
  async createdBelow(order: { id: string }, @FencingToken() token?: number): Promise<void> {
    handled.push(['createdBelow', order.id, token]);
  }

  @OnEvent('order.checked', { suppressErrors: false })
  @WithLock('check', { onBusy: 'throw' })
  async checked(): Promise<void> {
    handled.push(['checked']);
  }
}

describe('@OnEvent methods', () => {
  let app: INestApplicationContext;
  let store: MemoryStore;

  beforeEach(async () => {
    store = new MemoryStore();
    const module = await Test.createTestingModule({
      imports: [EventEmitterModule.forRoot(), DistributedLockModule.forRoot({ store })],
      providers: [Orders],
    }).compile();
    app = await module.init();
    handled.length = 0;
  });

  afterEach(() => app.close());

  it('run under the lock, with the token behind the payload', async () => {
    await app.get(EventEmitter2).emitAsync('order.created', { id: '7' });
    expect(handled).toEqual([
      ['created', '7', expect.any(Number)],
      ['createdBelow', '7', expect.any(Number)],
    ]);
  });

  it('are left out while the key is busy', async () => {
    await using _ = await new LockManager(store).acquire(['order:7', 'order-below:7']);
    await app.get(EventEmitter2).emitAsync('order.created', { id: '7' });
    expect(handled).toEqual([]);
  });

  it('fail instead where that is asked for', async () => {
    await using _ = await new LockManager(store).acquire('check');
    await expect(app.get(EventEmitter2).emitAsync('order.checked')).rejects.toMatchObject({ code: 'LOCK_BUSY' });
    expect(handled).toEqual([]);
  });
});
