import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Injectable, Module, Scope, type INestApplicationContext } from '@nestjs/common';
import { LazyModuleLoader, REQUEST } from '@nestjs/core';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import {
  DistributedLockModule,
  FencingToken,
  LockBusyError,
  LockManager,
  MemoryStore,
  WithLock,
} from 'nestjs-fenced-lock';
import { deferred } from './deferred.js';

type Metadata = Parameters<typeof Test.createTestingModule>[0];

const apps: INestApplicationContext[] = [];

async function started<T extends INestApplicationContext>(app: T): Promise<T> {
  apps.push(app);
  await app.init();
  return app;
}

function building(metadata: Metadata, store = new MemoryStore()): TestingModuleBuilder {
  const imports = [DistributedLockModule.forRoot({ store }), ...(metadata.imports ?? [])];
  return Test.createTestingModule({ ...metadata, imports });
}

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

@Injectable()
class Plain {
  @WithLock('plain:{0}')
  async run(id: string, @FencingToken() token?: number): Promise<unknown[]> {
    return [id, typeof token, LockManager.current()?.key];
  }
}

abstract class Importer {
  abstract readonly name: string;

  @WithLock('import')
  async import(@FencingToken() token?: number): Promise<unknown> {
    return this.parse(typeof token);
  }

  protected abstract parse(token: string): unknown;
}

@Injectable()
class CsvImporter extends Importer {
  readonly name = 'csv';

  protected parse(token: string): unknown {
    return [this.name, token, LockManager.current()?.key];
  }

  @WithLock('own')
  async own(): Promise<unknown> {
    return LockManager.current()?.key;
  }
}

@Injectable()
class Overriding extends Plain {
  override async run(id: string): Promise<unknown[]> {
    return ['overridden', ...(await super.run(id))];
  }
}

describe('providers', () => {
  const plain = ['1', 'number', 'plain:1'];

  it('lock as singletons, under any token', async () => {
    const app = await started(await building({ providers: [Plain, { provide: 'token', useClass: Plain }] }).compile());
    await expect(app.get(Plain).run('1')).resolves.toEqual(plain);
    await expect(app.get<Plain>('token').run('1')).resolves.toEqual(plain);
  });

  it('lock in methods that are inherited, abstract or overridden', async () => {
    const app = await started(await building({ providers: [CsvImporter, Overriding] }).compile());
    const csv = app.get(CsvImporter);
    await expect(csv.import()).resolves.toEqual(['csv', 'number', 'import']);
    await expect(csv.own()).resolves.toBe('own');
    await expect(app.get(Overriding).run('1')).resolves.toEqual(['overridden', ...plain]);
  });

  it('lock when factories and values made them', async () => {
    const app = await started(
      await building({
        providers: [
          { provide: 'factory', useFactory: () => new Plain() },
          { provide: 'value', useValue: new CsvImporter() },
          { provide: 'scoped', useFactory: () => new Plain(), scope: Scope.REQUEST },
        ],
      }).compile(),
    );
    await expect(app.get<Plain>('factory').run('1')).resolves.toEqual(plain);
    await expect(app.get<Importer>('value').import()).resolves.toEqual(['csv', 'number', 'import']);
    await expect((await app.resolve<Plain>('scoped')).run('1')).resolves.toEqual(plain);
  });

  it('lock once per request, and in transient ones', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient extends Plain {}

    @Injectable({ scope: Scope.REQUEST })
    class PerRequest {
      constructor(
        @Inject(REQUEST) readonly request: { url: string },
        readonly transient: Transient,
      ) {}

      @WithLock('request:{0}')
      async run(id: string): Promise<unknown[]> {
        return [this.request.url, LockManager.current()?.key, await this.transient.run(id)];
      }
    }

    @Controller()
    class Requests {
      constructor(
        readonly service: PerRequest,
        readonly transient: Transient,
      ) {}
      @Get('own')
      @WithLock('own')
      async own(): Promise<unknown> {
        return this.service.run('1');
      }
    }
    const module = await building({ controllers: [Requests], providers: [PerRequest, Transient] }).compile();
    const app = await started(module.createNestApplication({ logger: false }));
    await app.listen(0, '127.0.0.1');
    const response = await fetch(`${await app.getUrl()}/own`);
    expect(await response.json()).toEqual(['/own', 'request:1', plain]);
    await expect((await app.resolve(Transient)).run('1')).resolves.toEqual(plain);
  });

  it('lock in modules that are loaded lazily', async () => {
    @Module({ providers: [Plain] })
    class Lazy {}
    const app = await started(await building({}).compile());
    const lazy = await app.get(LazyModuleLoader).load(() => Lazy);
    await expect(lazy.get(Plain).run('1')).resolves.toEqual(plain);
  });

  it('never mix two applications of one process', async () => {
    const gate = deferred();
    @Injectable()
    class Gated {
      @WithLock('gated')
      async run(): Promise<void> {
        return gate.promise;
      }
    }
    const stores = [new MemoryStore(), new MemoryStore()] as const;
    const [one, two, same] = [
      await started(await building({ providers: [Gated] }, stores[0]).compile()),
      await started(await building({ providers: [Gated] }, stores[1]).compile()),
      await started(await building({ providers: [Gated] }, stores[0]).compile()),
    ] as const;
    const running = [one.get(Gated).run(), two.get(Gated).run()];
    await expect(same.get(Gated).run()).rejects.toThrow(LockBusyError);
    gate.resolve();
    await Promise.all(running);
    await one.close();
    await expect(one.get(Gated).run()).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await expect(two.get(Gated).run()).resolves.toBeUndefined();
  });

  it('use what overrideProvider(LockManager) puts in place', async () => {
    const manager = new LockManager(new MemoryStore());
    const app = await started(
      await building({ providers: [Plain, { provide: 'factory', useFactory: () => new Plain() }] })
        .overrideProvider(LockManager)
        .useValue(manager)
        .compile(),
    );
    await using _ = await manager.acquire('plain:1');
    await expect(app.get(Plain).run('1')).rejects.toThrow(LockBusyError);
    await expect(app.get<Plain>('factory').run('1')).rejects.toThrow(LockBusyError);
  });
});
