import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, Scope, SetMetadata, type Provider } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { of, Observable } from 'rxjs';
import {
  DistributedLockModule,
  FencingToken,
  LockManager,
  LockOptionsError,
  MemoryStore,
  WithLock,
} from 'nestjs-fenced-lock';

async function started(
  providers: Provider[],
  ...modules: ReturnType<typeof DistributedLockModule.forRoot>[]
): Promise<TestingModule> {
  const imports = modules.length > 0 ? modules : [DistributedLockModule.forRoot({ store: new MemoryStore() })];
  const module = await Test.createTestingModule({ imports, providers }).compile();
  return module.init();
}

class Service {
  @WithLock('made')
  async run(@FencingToken() token?: number): Promise<unknown> {
    return token;
  }
}

describe('binding managers at start-up', () => {
  it('reaches what factories and values made, of whatever scope', async () => {
    class Child extends Service {}
    const module = await started([
      { provide: 'factory', useFactory: () => new Service() },
      { provide: 'async', useFactory: async () => new Child() },
      { provide: 'value', useValue: new Service() },
      { provide: 'request', useFactory: () => new Service(), scope: Scope.REQUEST },
      { provide: 'transient', useFactory: () => new Service(), scope: Scope.TRANSIENT },
      { provide: 'alias', useExisting: 'value' },
    ]);
    for (const name of ['factory', 'async', 'value', 'alias']) {
      await expect(module.get<Service>(name).run()).resolves.toEqual(expect.any(Number));
    }
    for (const name of ['request', 'transient']) {
      await expect((await module.resolve<Service>(name)).run()).resolves.toEqual(expect.any(Number));
    }
    await module.close();
  });

  it('reaches a transient that a factory made for a host', async () => {
    @Injectable()
    class Host {
      constructor(readonly service: Service) {}
    }
    const module = await started([Host, { provide: Service, useFactory: () => new Service(), scope: Scope.TRANSIENT }]);
    await expect(module.get(Host).service.run()).resolves.toEqual(expect.any(Number));
    await module.close();
  });

  it('reaches them before any hook of the application calls them', async () => {
    class Eager extends Service {
      token: unknown;
      async onModuleInit(): Promise<void> {
        this.token = await this.run();
      }
    }
    const module = await started([{ provide: Eager, useFactory: () => new Eager() }]);
    expect(module.get(Eager).token).toEqual(expect.any(Number));
    await module.close();
  });

  it('finds for each module the manager it would be injected', async () => {
    const feature = (token: string, store: MemoryStore): unknown => {
      @Module({
        imports: [DistributedLockModule.forRoot({ store, isGlobal: false })],
        providers: [{ provide: token, useFactory: () => new Service() }],
        exports: [token, DistributedLockModule],
      })
      class Feature {}
      return Feature;
    };
    const [one, two] = [new MemoryStore(), new MemoryStore()];
    const module = await Test.createTestingModule({
      imports: [feature('one', one), feature('two', two)] as never[],
      providers: [{ provide: 'reexported', useValue: new Service() }],
    }).compile();
    await module.init();
    await using _ = await new LockManager(one).acquire('made');
    await expect(module.get<Service>('one').run()).rejects.toThrow();
    await expect(module.get<Service>('two').run()).resolves.toEqual(expect.any(Number));
    await expect(module.get<Service>('reexported').run()).rejects.toThrow();
    await module.close();
  });

  it('leaves everything else alone', async () => {
    const odd = [
      null,
      5,
      'text',
      Object.freeze({ a: 1 }),
      Object.create(null),
      () => 1,
      new Proxy({}, {}),
      Promise.resolve(),
    ];
    const module = await started(
      odd.map((useValue, index) => ({ provide: `odd${index}`, useValue: useValue as unknown })),
    );
    expect(Reflect.ownKeys(module.get('odd4'))).toEqual([]);
    await module.close();
  });
});

describe('a start-up is refused', () => {
  it('when the named manager of a factory-made instance is missing, naming the import', async () => {
    class Named {
      @WithLock('key', { manager: 'billing' })
      async run(): Promise<void> {}
    }
    const start = started([{ provide: 'made', useFactory: () => new Named() }]);
    await expect(start).rejects.toThrow(LockOptionsError);
    await expect(start).rejects.toThrow(/Named\.run.*DistributedLockModule\.forRoot\(\{ name: "billing" \}\)/);
  });

  it('when the module is missing, or the named one, naming the import', async () => {
    @Injectable()
    class Named {
      @WithLock('key', { manager: 'billing' })
      async run(): Promise<void> {}
    }
    await expect(Test.createTestingModule({ providers: [Service] }).compile()).rejects.toThrow(
      /add DistributedLockModule\.forRoot\(\) to the imports of your root module/,
    );
    await expect(started([Named])).rejects.toThrow(
      /add DistributedLockModule\.forRoot\(\{ name: "billing" \}\) to the imports/,
    );
  });

  it('when a lock parameter stands in a method without a lock', async () => {
    @Injectable()
    class Forgetful {
      async run(@FencingToken() _token?: number): Promise<void> {}
    }
    class Child extends Forgetful {}
    await expect(started([Forgetful])).rejects.toThrow(/@FencingToken\(\) in "Forgetful\.run": it has no @WithLock/);
    await expect(started([{ provide: 'made', useFactory: () => new Child() }])).rejects.toThrow(/Forgetful\.run/);
    await expect(started([{ provide: 'scoped', useClass: Child, scope: Scope.REQUEST }])).rejects.toThrow(
      /Forgetful\.run/,
    );
  });

  it.each(['microservices:handler_type', 'message'])(
    'when the payload of a handler (%s) would land on the token',
    async (metadata) => {
      @Injectable()
      class Handler {
        @SetMetadata(metadata, 1)
        @WithLock('key')
        async handle(@FencingToken() _token?: number): Promise<void> {}
      }
      await expect(started([Handler])).rejects.toThrow(/Handler\.handle.*@Payload\(\)/);
    },
  );

  it('when nobody would subscribe to the Observable of a scheduled method', async () => {
    @Injectable()
    class Job {
      @SetMetadata('SCHEDULER_TYPE', 1)
      @WithLock('key')
      tick(): Observable<number> {
        return of(1);
      }
    }
    await expect(started([Job])).rejects.toThrow(/Job\.tick.*nobody subscribes.*return a promise/);
  });

  it('when an instance is frozen', async () => {
    await expect(started([{ provide: 'frozen', useValue: Object.freeze(new Service()) }])).rejects.toThrow(/frozen/);
  });

  it('when one global manager is imported twice', async () => {
    const twice = [1, 2].map(() => DistributedLockModule.forRoot({ store: new MemoryStore() }));
    await expect(started([], ...twice)).rejects.toThrow(/imported twice/);
  });
});
