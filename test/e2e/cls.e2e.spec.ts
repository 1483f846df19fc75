import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable, Param, type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { ClsModule, ClsService, UseCls } from 'nestjs-cls';
import { DistributedLockModule, LockManager, MemoryStore, WithLock } from 'nestjs-fenced-lock';
import { deferred } from './deferred.js';

@Injectable()
class Work {
  constructor(private readonly cls: ClsService) {}

  @WithLock('work', { wait: '10s' })
  async one(until: Promise<unknown>): Promise<unknown[]> {
    await until;
    return this.seen();
  }

  @UseCls({ setup: (cls) => cls.set('user', 'a new context') })
  @WithLock('outer')
  async inside(): Promise<unknown[]> {
    return this.seen();
  }

  seen(): unknown[] {
    return [this.cls.get('user'), LockManager.current()?.key];
  }
}

@Controller()
class Users {
  constructor(private readonly work: Work) {}

  @Get(':user')
  @WithLock('user:{0}')
  async seen(@Param('user') _user: string): Promise<unknown[]> {
    return this.work.seen();
  }
}

describe('nestjs-cls', () => {
  let app: INestApplication;
  let cls: ClsService;
  let work: Work;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [
        ClsModule.forRoot({
          global: true,
          middleware: { mount: true, setup: (context, request) => context.set('user', request.url) },
        }),
        DistributedLockModule.forRoot({ store: new MemoryStore() }),
      ],
      controllers: [Users],
      providers: [Work],
    }).compile();
    app = module.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    cls = app.get(ClsService);
    work = app.get(Work);
  });

  afterAll(() => app.close());

  const as = (user: string, run: () => Promise<unknown>): Promise<unknown> => cls.runWith({ user } as never, run);

  it('keeps its context under a lock, also that of one who waited for the lock of another', async () => {
    const end = deferred();
    const first = as('ada', () => work.one(end.promise));
    const second = as('bob', () => work.one(Promise.resolve()));
    end.resolve();
    await expect(Promise.all([first, second])).resolves.toEqual([
      ['ada', 'work'],
      ['bob', 'work'],
    ]);
  });

  it('makes a context inside of which the lock is known', async () => {
    await expect(work.inside()).resolves.toEqual(['a new context', 'outer']);
  });

  it('carries what its middleware set into a locked route', async () => {
    const answer = await fetch(`${await app.getUrl()}/ada`);
    expect(await answer.json()).toEqual(['/ada', 'user:ada']);
  });
});
