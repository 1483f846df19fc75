import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, type INestApplication } from '@nestjs/common';
import {
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  Payload,
  Transport,
  type ClientProxy,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { firstValueFrom, from, lastValueFrom, toArray, Observable } from 'rxjs';
import { DistributedLockModule, FencingToken, LockManager, MemoryStore, WithLock } from 'nestjs-fenced-lock';
import { deferred, type Deferred } from './deferred.js';
import { freePort } from './free-port.js';

let handled: Deferred<unknown[]>;

@Controller()
class Accounts {
  @MessagePattern('credit')
  @WithLock('account:{0.id}')
  async credit(@Payload() command: { id: string }, @FencingToken() token?: number): Promise<unknown> {
    return { id: command.id, token: typeof token };
  }

  @WithLock('account:{1.id}')
  @MessagePattern('debit')
  async debit(@FencingToken() token: number, @Payload() command: { id: string }): Promise<unknown> {
    return { id: command.id, token: typeof token };
  }

  @MessagePattern('bare')
  @WithLock('account:{0.id}')
  async bare(command: { id: string }): Promise<string> {
    return command.id;
  }

  @MessagePattern('history')
  @WithLock('account:{0.id}')
  history(@Payload() command: { id: string }): Observable<string> {
    return from([command.id, LockManager.current()?.key ?? 'none']);
  }

  @EventPattern('closed')
  @WithLock('account:{0.id}')
  // Nest types further parameters of event handlers as unknown.
  async closed(@Payload() event: { id: string }, @FencingToken() token?: any): Promise<void> {
    handled.resolve([event.id, token]);
  }
}

@Controller()
class Careless {
  @MessagePattern('careless')
  @WithLock('careless')
  async careless(@FencingToken() token?: number): Promise<unknown> {
    return token;
  }
}

describe('message and event handlers', () => {
  const store = new MemoryStore();
  let app: INestApplication;
  let client: ClientProxy;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store })],
      controllers: [Accounts],
    }).compile();
    app = module.createNestApplication({ logger: false });
    const options = { host: '127.0.0.1', port: await freePort() };
    app.connectMicroservice<MicroserviceOptions>({ transport: Transport.TCP, options }, { inheritAppConfig: true });
    await app.startAllMicroservices();
    client = ClientProxyFactory.create({ transport: Transport.TCP, options });
    await client.connect();
  });

  afterAll(async () => {
    client.close();
    await app.close();
  });

  const ask = <T = unknown>(pattern: string): Observable<T> => client.send<T>(pattern, { id: '7' });

  it.each(['credit', 'debit'])('run %s under the lock, with the token beside the payload', async (pattern) => {
    await expect(firstValueFrom(ask(pattern))).resolves.toEqual({ id: '7', token: 'number' });
  });

  it('get their payload where no parameter is decorated', async () => {
    await expect(firstValueFrom(ask('bare'))).resolves.toBe('7');
  });

  it('send every value of an Observable', async () => {
    await expect(lastValueFrom(ask('history').pipe(toArray()))).resolves.toEqual(['7', 'account:7']);
    await expect(app.get(LockManager).isLocked('account:7')).resolves.toBe(false);
  });

  it('run events under the lock', async () => {
    handled = deferred();
    await lastValueFrom(client.emit('closed', { id: '7' }), { defaultValue: undefined });
    await expect(handled.promise).resolves.toEqual(['7', expect.any(Number)]);
  });

  it('answer with an error that shows nothing internal while the key is busy', async () => {
    await using _ = await new LockManager(store).acquire('account:7');
    for (const pattern of ['credit', 'history']) {
      const error: unknown = await lastValueFrom(ask(pattern)).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ status: 'error', message: expect.stringContaining('Try again later') });
      expect(JSON.stringify(error)).not.toContain('account');
    }
  });

  it('are refused at start-up when the payload would land on the token', async () => {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: new MemoryStore() })],
      controllers: [Careless],
    }).compile();
    await expect(module.init()).rejects.toThrow(/Careless\.careless.*@Payload\(\)/);
  });
});
