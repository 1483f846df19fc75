import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { UseFilters, type INestApplication } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import { MessageBody, SubscribeMessage, WebSocketGateway, type WsResponse } from '@nestjs/websockets';
import { from, Observable } from 'rxjs';
import { WebSocket } from 'ws';
import {
  DistributedLockModule,
  FencingToken,
  LockExceptionFilter,
  LockManager,
  MemoryStore,
  WithLock,
} from 'nestjs-fenced-lock';

@WebSocketGateway()
@UseFilters(LockExceptionFilter)
class Auction {
  @SubscribeMessage('bid')
  @WithLock('lot:{0.lot}')
  async bid(@MessageBody() body: { lot: string }, @FencingToken() token?: number): Promise<WsResponse> {
    return { event: 'accepted', data: [body.lot, typeof token] };
  }

  @WithLock('lot:{1.lot}')
  @SubscribeMessage('below')
  async below(@FencingToken() token: number, @MessageBody() body: { lot: string }): Promise<WsResponse> {
    return { event: 'accepted', data: [body.lot, typeof token] };
  }

  @SubscribeMessage('bare')
  @WithLock('lot:{1.lot}')
  async bare(_client: unknown, body: { lot: string }): Promise<WsResponse> {
    return { event: 'accepted', data: [body.lot] };
  }

  @SubscribeMessage('history')
  @WithLock('lot:{0.lot}')
  history(@MessageBody() body: { lot: string }): Observable<WsResponse> {
    return from([{ event: 'accepted', data: [body.lot, LockManager.current()?.key] }]);
  }
}

@WebSocketGateway()
class Careless {
  @SubscribeMessage('careless')
  @WithLock('careless')
  async careless(@FencingToken() token?: number): Promise<unknown> {
    return token;
  }
}

describe('gateway handlers', () => {
  const store = new MemoryStore();
  let app: INestApplication;
  let socket: WebSocket;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store })],
      providers: [Auction],
    }).compile();
    app = module.createNestApplication({ logger: false });
    app.useWebSocketAdapter(new WsAdapter(app));
    await app.listen(0, '127.0.0.1');
  });

  afterAll(() => app.close());

  beforeEach(async () => {
    socket = new WebSocket((await app.getUrl()).replace('http', 'ws'));
    await once(socket, 'open');
  });

  afterEach(async () => {
    socket.close();
    await once(socket, 'close');
  });

  async function ask(event: string): Promise<unknown> {
    const answer = once(socket, 'message');
    socket.send(JSON.stringify({ event, data: { lot: 'L1' } }));
    const [data] = (await answer) as [Buffer];
    return JSON.parse(data.toString());
  }

  it.each(['bid', 'below'])('run %s under the lock, with the token beside the body', async (event) => {
    await expect(ask(event)).resolves.toEqual({ event: 'accepted', data: ['L1', 'number'] });
  });

  it('get client and body where no parameter is decorated', async () => {
    await expect(ask('bare')).resolves.toEqual({ event: 'accepted', data: ['L1'] });
  });

  it('send the values of an Observable', async () => {
    await expect(ask('history')).resolves.toEqual({ event: 'accepted', data: ['L1', 'lot:L1'] });
  });

  it.each(['bid', 'history'])(
    'answer %s with an exception that shows nothing internal while the key is busy',
    async (event) => {
      await using _ = await new LockManager(store).acquire('lot:L1');
      const answer = await ask(event);
      expect(answer).toEqual({
        event: 'exception',
        data: { status: 'error', message: expect.stringContaining('Try again later') },
      });
      expect(JSON.stringify(answer)).not.toContain('lot');
    },
  );

  it('are refused at start-up when the client would land on the token', async () => {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: new MemoryStore() })],
      providers: [Careless],
    }).compile();
    const careless = module.createNestApplication({ logger: false });
    careless.useWebSocketAdapter(new WsAdapter(careless));
    await expect(careless.init()).rejects.toThrow(/Careless\.careless.*@MessageBody\(\)/);
  });
});
