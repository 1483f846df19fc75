import { get } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable, type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  DistributedLockModule,
  LockManager,
  LockSignal,
  MemoryStore,
  WithLock,
  type LockStore,
} from 'nestjs-fenced-lock';
import { deferred, type Deferred } from './deferred.js';

const log: string[] = [];
let gate: Deferred<void>;
let entered: Deferred<AbortSignal | undefined>;

@Injectable()
class Work {
  @WithLock('held', { ttl: '600ms' })
  async held(@LockSignal() signal?: AbortSignal): Promise<string> {
    entered.resolve(signal);
    await gate.promise;
    log.push('held work ended');
    return 'done';
  }

  @WithLock('held', { wait: '60s' })
  async waiting(): Promise<string> {
    return 'never';
  }

  onModuleDestroy(): void {
    log.push('module destroyed');
  }

  /** Where database modules close their pools. */
  onApplicationShutdown(): void {
    log.push('database closed');
  }
}

@Controller()
class Requests {
  constructor(private readonly work: Work) {}

  @Get('held')
  async held(): Promise<string> {
    return this.work.held();
  }

  @Get('until-aborted')
  @WithLock('until-aborted')
  async untilAborted(@LockSignal() signal?: AbortSignal): Promise<string> {
    entered.resolve(signal);
    await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    return 'aborted';
  }

  @Get('waiting')
  async waiting(): Promise<string> {
    return this.work.waiting();
  }
}

class ClosingStore extends MemoryStore {
  attempt = (): void => undefined;
  renewal = (): void => undefined;

  override async acquire(...args: Parameters<MemoryStore['acquire']>): ReturnType<LockStore['acquire']> {
    const result = await super.acquire(...args);
    this.attempt();
    return result;
  }

  override async renew(...args: Parameters<LockStore['renew']>): ReturnType<LockStore['renew']> {
    const result = await super.renew(...args);
    this.renewal();
    return result;
  }

  async close(): Promise<void> {
    log.push('store closed');
  }
}

/** Without keep-alive: a server that closes waits for idle connections too. */
function request(url: string): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, text }));
    }).on('error', reject);
  });
}

describe('app.close()', () => {
  let app: INestApplication;
  let url: string;

  async function start(store: LockStore, shutdownTimeout: string): Promise<void> {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store, shutdownTimeout })],
      controllers: [Requests],
      providers: [Work],
    }).compile();
    app = module.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  }

  beforeEach(() => {
    log.length = 0;
    gate = deferred();
    entered = deferred();
  });

  afterEach(() => gate.resolve());

  it('ends waits at once, lets held work finish under its lock while the database is open, then closes the store', async () => {
    const store = new ClosingStore();
    await start(store, '60s');
    const held = app.get(Work).held();
    const signal = await entered.promise;
    const attempt = deferred();
    store.attempt = () => attempt.resolve();
    const waiting = app.get(Work).waiting();
    await attempt.promise;

    const closed = app.close().then(() => log.push('app closed'));
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await expect(app.get(Work).held()).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });

    // Three renewals are a ttl and more: the lock of the held work outlives it.
    for (let renewals = 0; renewals < 4; renewals++) {
      await new Promise<void>((resolve) => (store.renewal = resolve));
    }
    await expect(store.inspect('held')).resolves.toMatchObject({ locked: true });
    expect(signal?.aborted).toBe(false);
    expect(log).toEqual(['module destroyed']);

    gate.resolve();
    await expect(held).resolves.toBe('done');
    await closed;
    expect(log).toEqual(['module destroyed', 'held work ended', 'store closed', 'database closed', 'app closed']);
    await expect(store.inspect('held')).resolves.toEqual({ locked: false });
  });

  it('answers requests that wait for a lock with 503, so that the HTTP server can close', async () => {
    const store = new ClosingStore();
    await start(store, '60s');
    const held = request(`${url}/held`);
    await entered.promise;
    const attempt = deferred();
    store.attempt = () => attempt.resolve();
    const waiting = request(`${url}/waiting`);
    await attempt.promise;

    const closed = app.close();
    expect((await waiting).status).toBe(503);
    gate.resolve();
    await expect(held).resolves.toEqual({ status: 200, text: 'done' });
    await closed;
  });

  it('aborts the signal of work that does not end in time, even of a request the server waits for', async () => {
    const store = new ClosingStore();
    await start(store, '500ms');
    const stuck = app.get(Work).held();
    await entered.promise;
    entered = deferred();
    const answer = request(`${url}/until-aborted`);
    const signal = await entered.promise;
    await app.close();
    expect(signal?.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'shutdown' });
    expect((await answer).status).toBe(500);
    await expect(store.inspect('held')).resolves.toEqual({ locked: false });
    gate.resolve();
    await expect(stuck).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'shutdown', result: 'done' });
  });

  it('returns although the store never answers', async () => {
    class HangingStore extends MemoryStore {
      hung = false;
      #unlessHung<T>(answer: Promise<T>): Promise<T> {
        return this.hung ? new Promise<T>(() => undefined) : answer;
      }
      override acquire(...args: Parameters<MemoryStore['acquire']>): ReturnType<MemoryStore['acquire']> {
        return this.#unlessHung(super.acquire(...args));
      }
      override release(...args: Parameters<MemoryStore['release']>): ReturnType<MemoryStore['release']> {
        return this.#unlessHung(super.release(...args));
      }
      override renew(...args: Parameters<MemoryStore['renew']>): ReturnType<MemoryStore['renew']> {
        return this.#unlessHung(super.renew(...args));
      }
      close(): Promise<void> {
        return this.#unlessHung(Promise.resolve());
      }
    }
    const store = new HangingStore();
    await start(store, '500ms');
    const held = app
      .get(Work)
      .held()
      .catch(() => undefined);
    const signal = await entered.promise;
    store.hung = true;
    const asking = app
      .get(LockManager)
      .acquire('other')
      .catch(() => undefined);
    await app.close();
    expect(signal?.aborted).toBe(true);
    gate.resolve();
    void held;
    void asking;
  });
});
