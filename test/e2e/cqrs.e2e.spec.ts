import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import {
  Command,
  CommandBus,
  CommandHandler,
  CqrsModule,
  EventBus,
  EventsHandler,
  UnhandledExceptionBus,
  type ICommandHandler,
  type IEventHandler,
} from '@nestjs/cqrs';
import { Test } from '@nestjs/testing';
import { firstValueFrom } from 'rxjs';
import { DistributedLockModule, FencingToken, LockManager, MemoryStore, WithLock } from 'nestjs-fenced-lock';
import { deferred } from './deferred.js';

class PayOrder extends Command<unknown[]> {
  constructor(readonly id: string) {
    super();
  }
}

class OrderPaid {
  constructor(readonly id: string) {}
}

@CommandHandler(PayOrder)
class PayOrderHandler implements ICommandHandler<PayOrder> {
  @WithLock('order:{0.id}')
  async execute(command: PayOrder, @FencingToken() token?: number): Promise<unknown[]> {
    return [command.id, typeof token, LockManager.current()?.key];
  }
}

let handled = deferred<unknown>();

@EventsHandler(OrderPaid)
class OrderPaidHandler implements IEventHandler<OrderPaid> {
  @WithLock('mail:{0.id}')
  async handle(event: OrderPaid): Promise<void> {
    handled.resolve([event.id, LockManager.current()?.key]);
  }
}

describe('CQRS handlers', () => {
  let app: INestApplicationContext;
  let store: MemoryStore;

  beforeEach(async () => {
    store = new MemoryStore();
    handled = deferred();
    const module = await Test.createTestingModule({
      imports: [CqrsModule.forRoot(), DistributedLockModule.forRoot({ store })],
      providers: [PayOrderHandler, OrderPaidHandler],
    }).compile();
    module.useLogger(false);
    app = await module.init();
  });

  afterEach(() => app.close());

  it('run commands under the lock, with the token behind the command', async () => {
    await expect(app.get(CommandBus).execute(new PayOrder('7'))).resolves.toEqual(['7', 'number', 'order:7']);
  });

  it('reject a command while the key is busy', async () => {
    await using _ = await new LockManager(store).acquire('order:7');
    await expect(app.get(CommandBus).execute(new PayOrder('7'))).rejects.toMatchObject({ code: 'LOCK_BUSY' });
  });

  it('run events under the lock', async () => {
    app.get(EventBus).publish(new OrderPaid('7'));
    await expect(handled.promise).resolves.toEqual(['7', 'mail:7']);
  });

  it('tell the bus of unhandled exceptions when an event finds the key busy', async () => {
    await using _ = await new LockManager(store).acquire('mail:7');
    const told = firstValueFrom(app.get(UnhandledExceptionBus));
    app.get(EventBus).publish(new OrderPaid('7'));
    await expect(told).resolves.toMatchObject({ exception: { code: 'LOCK_BUSY' }, cause: { id: '7' } });
  });
});
