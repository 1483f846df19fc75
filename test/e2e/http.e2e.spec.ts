import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Body,
  Controller,
  Get,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  SetMetadata,
  UseGuards,
  UseInterceptors,
  ValidationPipe,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ApiOperation, ApiProperty, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { IsString } from 'class-validator';
import { map, Observable, of } from 'rxjs';
import {
  CurrentLock,
  DistributedLockModule,
  FencingToken,
  Lock,
  LockManager,
  LockLostError,
  LockUnavailableError,
  MemoryStore,
  StaleTokenError,
  WithLock,
} from 'nestjs-fenced-lock';

class Purchase {
  @ApiProperty()
  @IsString()
  buyer!: string;
}

@Injectable()
class RoleGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}
  canActivate(context: ExecutionContext): boolean {
    return this.reflector.get<string>('role', context.getHandler()) !== 'nobody';
  }
}

@Injectable()
class Envelope implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

@Controller('tickets')
class Tickets {
  @Post(':id/purchase')
  @WithLock('ticket:{0}')
  @ApiOperation({ summary: 'Buy a ticket' })
  async purchase(
    @Param('id', ParseIntPipe) id: number,
    @FencingToken() token: number,
    @Body() body: Purchase,
  ): Promise<unknown> {
    return { id, token: typeof token, buyer: body.buyer, typed: body instanceof Purchase };
  }

  @WithLock('ticket:{0}')
  @Post(':id/below')
  async below(@Param('id') id: string, @CurrentLock() lock: Lock): Promise<unknown> {
    return { key: lock.key, id };
  }

  @UseInterceptors(Envelope)
  @WithLock((id: string) => `ticket:${id}`)
  @UseGuards(RoleGuard)
  @Get(':id/wrapped')
  async wrapped(@Param('id') _id: string, @FencingToken() token?: number): Promise<string> {
    return typeof token;
  }

  @WithLock('ticket:{0}')
  @SetMetadata('role', 'nobody')
  @UseGuards(RoleGuard)
  @Get(':id/forbidden')
  async forbidden(@Param('id') _id: string): Promise<string> {
    return 'never';
  }

  @Get(':id/stream')
  @WithLock('ticket:{0}')
  stream(@Param('id') id: string, @FencingToken() token?: number): Observable<unknown> {
    return of({ id, token: typeof token });
  }

  @Get(':id/skipped')
  @WithLock('ticket:{0}', { onBusy: 'skip' })
  skipped(@Param('id') id: string): Observable<string> {
    return of(id);
  }

  @Get('bare')
  @WithLock('bare')
  async bare(@FencingToken() token?: number): Promise<unknown> {
    return { token: typeof token };
  }

  @Get('fail/:how')
  @WithLock('fail')
  async fail(@Param('how') how: string): Promise<void> {
    if (how === 'unavailable') throw new LockUnavailableError('secret', [{ node: 'secret', reason: 'secret' }]);
    if (how === 'stale') throw new StaleTokenError('secret', 4711);
    throw new LockLostError('secret', 4711, 'expired', 'secret');
  }
}

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
] as const)('controllers on %s', (_, adapter) => {
  let app: INestApplication;
  let url: string;
  const store = new MemoryStore();
  const elsewhere = new LockManager(store);

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store })],
      controllers: [Tickets],
    }).compile();
    app = module.createNestApplication(adapter() as never, { logger: false });
    app.useGlobalPipes(new ValidationPipe({ transform: true }));
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });

  afterAll(() => app.close());

  beforeEach(async () => expect(await elsewhere.isLocked('ticket:1')).toBe(false));

  const get = (path: string): Promise<Response> => fetch(`${url}/tickets/${path}`);
  const post = (path: string, body: object = {}): Promise<Response> =>
    fetch(`${url}/tickets/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });

  it('lock below the route decorator, with piped parameters around the token', async () => {
    const response = await post('1/purchase', { buyer: 'Ada' });
    expect([response.status, await response.json()]).toEqual([
      201,
      { id: 1, token: 'number', buyer: 'Ada', typed: true },
    ]);
  });

  it('lock above the route decorator', async () => {
    expect(await (await post('1/below')).json()).toEqual({ key: 'ticket:1', id: '1' });
  });

  it('work between guards and interceptors', async () => {
    expect(await (await get('1/wrapped')).json()).toEqual({ data: 'number' });
    expect((await get('1/forbidden')).status).toBe(403);
  });

  it('let pipes refuse before anything is locked', async () => {
    await using _ = await elsewhere.acquire('ticket:1');
    expect((await post('1/purchase', { buyer: 5 })).status).toBe(400);
    expect((await post('one/purchase', { buyer: 'Ada' })).status).toBe(400);
  });

  it('fill the token in where no other parameter is decorated', async () => {
    expect(await (await get('bare')).json()).toEqual({ token: 'number' });
  });

  it('answer with the last value of an Observable', async () => {
    expect(await (await get('1/stream')).json()).toEqual({ id: '1', token: 'number' });
  });

  it.each(['1/wrapped', '1/stream'])(
    'answer %s with 409 and Retry-After while someone else holds the key',
    async (path) => {
      await using _ = await elsewhere.acquire('ticket:1', { ttl: 60 });
      const response = await get(path);
      const body = await response.text();
      expect([response.status, JSON.parse(body)]).toEqual([
        409,
        { statusCode: 409, error: 'Conflict', message: expect.any(String) },
      ]);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(15);
      expect(body).not.toMatch(/ticket/);
    },
  );

  it('answer with nothing where a busy key is to be skipped', async () => {
    await using _ = await elsewhere.acquire('ticket:1');
    const response = await get('1/skipped');
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  it.each([
    ['unavailable', 503, '1'],
    ['stale', 409, null],
    ['lost', 500, null],
  ])('answer an error (%s) with %i and nothing internal', async (how, status, retryAfter) => {
    const response = await get(`fail/${how}`);
    const body = await response.text();
    expect([response.status, response.headers.get('retry-after')]).toEqual([status, retryAfter]);
    expect(JSON.parse(body)).toMatchObject({ statusCode: status, message: expect.any(String) });
    expect(body).not.toMatch(/secret|4711/);
  });

  it('sell one ticket once when many buy it at the same moment', async () => {
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await get('2/wrapped')).status));
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
    expect(statuses).toContain(200);
  });

  it('are documented by Swagger as without the lock', () => {
    const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    const operation = document.paths['/tickets/{id}/purchase']?.post;
    expect(operation).toMatchObject({
      summary: 'Buy a ticket',
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'number' } }],
      requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Purchase' } } } },
    });
    expect(operation?.parameters).toHaveLength(1);
  });
});
