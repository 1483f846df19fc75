import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Sse, type INestApplication, type MessageEvent } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { get, type ClientRequest } from 'node:http';
import { Observable } from 'rxjs';
import { DistributedLockModule, FencingToken, LockManager, MemoryStore, WithLock } from 'nestjs-fenced-lock';
import { deferred } from './deferred.js';

/** Tells what goes on at a key, so that a test need not poll. */
class WatchedStore extends MemoryStore {
  onAttempt = (): void => undefined;

  override async acquire(...args: Parameters<MemoryStore['acquire']>): ReturnType<MemoryStore['acquire']> {
    const result = await super.acquire(...args);
    this.onAttempt();
    return result;
  }
}

const streams = { started: 0, ended: 0, onEnd: (): void => undefined };

@Controller()
class Feed {
  @Sse('feed')
  @WithLock('feed', { wait: '60s' })
  feed(@FencingToken() token?: number): Observable<MessageEvent> {
    return new Observable((subscriber) => {
      subscriber.next({ data: { token: typeof token, key: LockManager.current()?.key } });
      streams.started++;
      return () => {
        streams.ended++;
        streams.onEnd();
      };
    });
  }

  @WithLock('finite')
  @Sse('finite')
  finite(): Observable<MessageEvent> {
    return new Observable((subscriber) => {
      subscriber.next({ data: 'one' });
      subscriber.next({ data: 'two' });
      subscriber.complete();
    });
  }
}

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
] as const)('@Sse on %s', (_, adapter) => {
  const store = new WatchedStore();
  const elsewhere = new LockManager(store);
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store })],
      controllers: [Feed],
    }).compile();
    app = module.createNestApplication(adapter() as never, { logger: false });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });

  afterAll(() => app.close());

  const open = (): ClientRequest => get(`${url}/feed`).on('error', () => undefined);

  async function firstEvent(request: ClientRequest): Promise<string> {
    const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream];
    for await (const chunk of response) {
      const text = String(chunk);
      if (text.includes('data:')) return text;
    }
    throw new Error('the stream ended without an event');
  }

  it('sends the events of a stream that ends, and is free afterwards', async () => {
    const text = await (await fetch(`${url}/finite`)).text();
    expect(text).toMatch(/data: one[\s\S]*data: two/);
    await expect(elsewhere.isLocked('finite')).resolves.toBe(false);
  });

  it('holds the lock while the client listens, and releases it when the client leaves', async () => {
    const request = open();
    const left = deferred();
    streams.onEnd = () => left.resolve();
    await expect(firstEvent(request)).resolves.toMatch(/"token":"number","key":"feed"/);
    request.destroy();
    await left.promise;
    const lock = await elsewhere.acquire('feed', { wait: '20s' });
    await lock.release();
  });

  it('takes nothing for a client that left while it waited', async () => {
    const lock = await elsewhere.acquire('feed');
    const waiting = deferred();
    store.onAttempt = () => waiting.resolve();
    const request = open();
    await waiting.promise;
    request.destroy();
    await new Promise((resolve) => request.once('close', resolve));
    await lock.release();

    // A waiter that had stayed behind would get the key now, or once it is free again, and keep it.
    for (let turn = 0; turn < 2; turn++) {
      const next = await elsewhere.acquire('feed', { wait: '20s' });
      await next.release();
    }
    expect(streams.ended).toBe(streams.started);
  });
});
