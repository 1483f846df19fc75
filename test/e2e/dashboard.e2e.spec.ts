import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Injectable,
  Module,
  ValidationPipe,
  VersioningType,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { Script } from 'node:vm';
import { map, type Observable } from 'rxjs';
import { DistributedLockModule, LockManager, LockUnavailableError, MemoryStore } from 'nestjs-fenced-lock';
import { LockDashboardModule } from 'nestjs-fenced-lock/dashboard';
import { UpdateStream } from './update-stream.js';

@Injectable()
class Roles {
  mayAct(role: unknown): boolean {
    return role === 'admin';
  }
}

@Injectable()
class AdminGuard implements CanActivate {
  constructor(private readonly roles: Roles) {}
  canActivate(context: ExecutionContext): boolean {
    const request: { headers: Record<string, unknown> } = context.switchToHttp().getRequest();
    return this.roles.mayAct(request.headers['x-role']);
  }
}

@Module({ providers: [Roles], exports: [Roles] })
class RolesModule {}

/** What many applications do to every answer. */
class Envelope implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

class BrokenStore extends MemoryStore {
  override forceRelease(): Promise<boolean> {
    return Promise.reject(new LockUnavailableError('secret', [{ node: 'secret', reason: 'secret' }]));
  }
}

const admin = { 'x-role': 'admin' };
const order = { ...admin, 'content-type': 'application/json', 'x-lock-dashboard': 'release' };

/** A stream goes on for longer than any handler may. */
const HANDLER_TIMEOUT_MS = 800;

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter({ handlerTimeout: HANDLER_TIMEOUT_MS })],
] as const)('The dashboard on %s', (_, adapter) => {
  const store = new MemoryStore();
  const elsewhere = new LockManager(store);
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    const shared = { imports: [RolesModule], guards: [AdminGuard] };
    const module = await Test.createTestingModule({
      imports: [
        DistributedLockModule.forRoot({ store }),
        DistributedLockModule.forRoot({ store: new BrokenStore(), name: 'billing' }),
        LockDashboardModule.forRoot({ ...shared, path: '/locks', release: true }),
        LockDashboardModule.forRoot({ ...shared, path: '/ops/billing', release: true, manager: 'billing' }),
        LockDashboardModule.forRoot({ ...shared, path: '/look' }),
      ],
    }).compile();
    app = module.createNestApplication(adapter() as never, { logger: false });
    app.setGlobalPrefix('api');
    app.useGlobalPipes(new ValidationPipe({ whitelist: true, transform: true }));
    app.useGlobalInterceptors(new Envelope());
    await app.listen(0, '127.0.0.1');
    url = `${await app.getUrl()}/api`;
  });

  afterAll(() => app.close());

  const release = (body: object, headers: Record<string, string> = {}, path = 'locks'): Promise<Response> =>
    fetch(`${url}/${path}/release`, { method: 'POST', headers: { ...order, ...headers }, body: JSON.stringify(body) });

  it.each([
    ['GET', 'locks'],
    ['GET', 'locks/events'],
    ['POST', 'locks/release'],
  ])('lets nobody in whom the guard does not: %s %s', async (method, path) => {
    const headers = { 'content-type': 'application/json', 'x-lock-dashboard': 'release' };
    const body = method === 'POST' ? { body: '{"key":"a"}' } : {};
    await using _lock = await elsewhere.acquire('a');
    const response = await fetch(`${url}/${path}`, { method, headers, ...body });
    expect(response.status).toBe(403);
    await expect(elsewhere.isLocked('a')).resolves.toBe(true);
  });

  it('is a page that runs its own script only, by a nonce of each answer', async () => {
    const nonces = new Set<string>();
    for (let round = 0; round < 2; round++) {
      const response = await fetch(`${url}/locks`, { headers: admin });
      const html = await response.text();
      const [, nonce = ''] = /script-src 'nonce-([\w-]{22})'/.exec(response.headers.get('content-security-policy')!)!;
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(html).toMatch(/^<!doctype html>/);
      const [, script] = new RegExp(`<script nonce="${nonce}">([^]*)</script>`).exec(html)!;
      expect(() => new Script(script!)).not.toThrow();
      // What a compiler makes of a use of another module.
      expect(script).not.toMatch(/_js_\d|\brequire\(|\bexports\.|\bimport\b/);
      nonces.add(nonce);
    }
    expect(nonces.size).toBe(2);
  });

  it('streams what is held, and what becomes of it', async () => {
    await using first = await elsewhere.acquire('stream:1');
    const stream = await UpdateStream.open(`${url}/locks/events`, { ...admin, 'sec-fetch-site': 'same-origin' });
    expect(stream.response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(await stream.until(({ full }) => full)).toMatchObject({
      about: { manager: 'default', release: true },
      set: [{ key: 'stream:1', token: first.fencingToken, pid: process.pid }],
    });
    const second = await elsewhere.acquire('stream:2');
    await stream.until(({ set }) => set[0]?.key === 'stream:2');
    await second.release();
    await stream.until(({ gone }) => gone[0] === 'stream:2');
    await stream.close();
  });

  it('streams to no page of another site', async () => {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]) {
      const response = await fetch(`${url}/locks/events`, { headers: { ...admin, ...headers } });
      expect(response.status).toBe(403);
    }
  });

  it('streams nothing to who asks for the head of it', async () => {
    const response = await fetch(`${url}/locks/events`, { method: 'HEAD', headers: admin });
    expect(response.ok).toBe(false);
  });

  it('shows the manager it is of', async () => {
    const stream = await UpdateStream.open(`${url}/ops/billing/events`, admin);
    expect(await stream.until(({ full }) => full)).toMatchObject({ about: { manager: 'billing' }, set: [] });
    await stream.close();
    const other = await UpdateStream.open(`${url}/look/events`, admin);
    expect(await other.until(({ full }) => full)).toMatchObject({ about: { manager: 'default', release: false } });
    await other.close();
  });

  it('releases a lock, whose next holder gets a higher token', async () => {
    const lock = await elsewhere.acquire('release:1', { ttl: '30s' });
    const response = await release({ key: 'release:1' });
    expect([response.status, await response.json()]).toEqual([200, { outcome: 'released' }]);
    await using next = await elsewhere.acquire('release:1');
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await (await release({ key: 'release:2' })).json()).toEqual({ outcome: 'free' });
    expect(await (await release({ key: 'release:1', id: 'other' })).json()).toEqual({ outcome: 'moved' });
    await expect(elsewhere.isLocked('release:1')).resolves.toBe(true);
  });

  it.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['another origin', { origin: 'https://evil.example' }, 403],
    ['who sends no header of ours', { 'x-lock-dashboard': '' }, 403],
    ['a form', { 'content-type': 'text/plain' }, 415],
  ])('releases nothing for %s', async (_who, headers, status) => {
    await using _lock = await elsewhere.acquire('csrf');
    const response = await release({ key: 'csrf' }, headers as unknown as Record<string, string>);
    expect(response.status).toBe(status);
    await expect(elsewhere.isLocked('csrf')).resolves.toBe(true);
  });

  it('releases nothing for a body that is no order', async () => {
    expect((await release({ key: '' })).status).toBe(400);
    expect((await release({ key: 'x'.repeat(513) })).status).toBe(400);
    expect((await release({ key: 'x'.repeat(5000) })).status).toBe(413);
    expect((await release(['a'])).status).toBe(400);
  });

  it('answers 503, with nothing internal, when the store cannot tell', async () => {
    const response = await release({ key: 'a' }, {}, 'ops/billing');
    expect(response.status).toBe(503);
    await expect(response.text()).resolves.not.toMatch(/secret/);
  });

  it('has no way to release where that is not enabled', async () => {
    await using _lock = await elsewhere.acquire('a');
    expect((await release({ key: 'a' }, {}, 'look')).status).toBe(404);
    await expect(elsewhere.isLocked('a')).resolves.toBe(true);
  });

  it('ends its streams when the application closes, which they do not hold up', async () => {
    const stream = await UpdateStream.open(`${url}/locks/events`, admin);
    await stream.until(({ full }) => full);
    const startedAt = performance.now();
    await app.close();
    await stream.ended;
    expect(performance.now() - startedAt).toBeLessThan(3000);
  });
});

describe('A dashboard', () => {
  it('refuses to be there without a guard, before anything starts', () => {
    expect(() => LockDashboardModule.forRoot({})).toThrow(/guards/);
  });

  it('serves its page under a version of the application, too', async () => {
    const module = await Test.createTestingModule({
      imports: [
        DistributedLockModule.forRoot({ store: new MemoryStore() }),
        LockDashboardModule.forRoot({ allowUnguarded: true }),
      ],
    }).compile();
    const app = module.createNestApplication(new ExpressAdapter() as never, { logger: false });
    app.enableVersioning({ type: VersioningType.HEADER, header: 'x-version', defaultVersion: '2' });
    await app.listen(0, '127.0.0.1');
    try {
      expect((await fetch(`${await app.getUrl()}/locks`)).status).toBe(200);
    } finally {
      await app.close();
    }
  });
});
