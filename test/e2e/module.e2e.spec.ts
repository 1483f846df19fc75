import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type DynamicModule, type INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  DistributedLockModule,
  InjectLockManager,
  LockBusyError,
  LockManager,
  LockOptionsError,
  MemoryStore,
  WithLock,
  type DistributedLockModuleOptions,
  type DistributedLockOptionsFactory,
  type LockStore,
} from 'nestjs-fenced-lock';
import { LockingTestingModule } from 'nestjs-fenced-lock/testing';

@Injectable()
class Config implements DistributedLockOptionsFactory {
  readonly store = new MemoryStore();

  async createLockOptions(): Promise<DistributedLockModuleOptions> {
    return { store: this.store };
  }
}

@Module({ providers: [Config], exports: [Config] })
class ConfigModule {}

@Injectable()
class Service {
  @WithLock('key')
  async run(): Promise<string | undefined> {
    return LockManager.current()?.key;
  }
}

@Injectable()
class TwoManagers {
  constructor(
    readonly locks: LockManager,
    @InjectLockManager('billing') readonly billing: LockManager,
  ) {}

  @WithLock('key')
  async one(): Promise<boolean[]> {
    return [await this.locks.isLocked('key'), await this.billing.isLocked('key')];
  }

  @WithLock('key', { manager: 'billing' })
  async other(): Promise<boolean[]> {
    return [await this.locks.isLocked('key'), await this.billing.isLocked('key')];
  }
}

const apps: INestApplicationContext[] = [];

async function start(
  imports: NonNullable<Parameters<typeof Test.createTestingModule>[0]['imports']>,
  provider = Service as unknown,
): Promise<INestApplicationContext> {
  const app = await Test.createTestingModule({ imports, providers: [provider as never] }).compile();
  apps.push(app);
  return app.init();
}

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

describe('DistributedLockModule', () => {
  it.each<[string, () => DynamicModule]>([
    [
      'useFactory',
      () =>
        DistributedLockModule.forRootAsync({
          imports: [ConfigModule],
          inject: [Config],
          useFactory: (config: Config) => ({ store: config.store, defaults: { ttl: '5s' } }),
        }),
    ],
    [
      'an async useFactory',
      () => DistributedLockModule.forRootAsync({ useFactory: async () => ({ store: new MemoryStore() }) }),
    ],
    ['useClass', () => DistributedLockModule.forRootAsync({ useClass: Config })],
    ['useExisting', () => DistributedLockModule.forRootAsync({ imports: [ConfigModule], useExisting: Config })],
    ['forRoot', () => DistributedLockModule.forRoot({ store: new MemoryStore() })],
    ['the module for tests', () => LockingTestingModule.forRoot()],
  ])('is set up by %s', async (_, module) => {
    const app = await start([module()]);
    await expect(app.get(Service).run()).resolves.toBe('key');
    expect(app.get(LockManager)).toBeInstanceOf(LockManager);
  });

  it('hands the lock defaults on', async () => {
    const ttls: number[] = [];
    class Noting extends MemoryStore {
      override async acquire(...args: Parameters<MemoryStore['acquire']>): ReturnType<LockStore['acquire']> {
        ttls.push(args[2]);
        return super.acquire(...args);
      }
    }
    const app = await start([DistributedLockModule.forRoot({ store: new Noting(), defaults: { ttl: '7s' } })]);
    await app.get(Service).run();
    expect(ttls).toEqual([7000]);
  });

  it('keeps several managers apart, also within one class', async () => {
    const app = await start(
      [
        DistributedLockModule.forRoot({ store: new MemoryStore() }),
        DistributedLockModule.forRootAsync({ name: 'billing', useFactory: () => ({ store: new MemoryStore() }) }),
      ],
      TwoManagers,
    );
    const service = app.get(TwoManagers);
    expect([app.get(LockManager).name, service.billing.name]).toEqual(['default', 'billing']);
    await expect(service.one()).resolves.toEqual([true, false]);
    await expect(service.other()).resolves.toEqual([false, true]);
    await using _ = await service.billing.acquire('key');
    await expect(service.one()).resolves.toEqual([true, true]);
    await expect(service.other()).rejects.toThrow(LockBusyError);
  });

  it('is seen everywhere by default, and only where imported if asked', async () => {
    const feature = (isGlobal: boolean): unknown => {
      @Module({ imports: [DistributedLockModule.forRoot({ store: new MemoryStore(), isGlobal })] })
      class Feature {}
      return Feature;
    };
    await expect(start([feature(true)] as never)).resolves.toBeDefined();
    await expect(start([feature(false)] as never)).rejects.toThrow(/DistributedLockModule\.forRoot\(\)/);
  });

  it('refuses options that make no sense where they are given', async () => {
    const two = ['redis://localhost:1', 'redis://localhost:2'];
    const wrong: object[] = [
      { nodes: two },
      { ttl: 5 },
      { name: '' },
      { isGlobal: 'no' },
      { nodes: [two[0]], store: new MemoryStore() },
    ];
    for (const options of wrong) expect(() => DistributedLockModule.forRoot(options)).toThrow(LockOptionsError);
    expect(() => DistributedLockModule.forRoot(null as never)).toThrow(LockOptionsError);
    expect(() => DistributedLockModule.forRootAsync({ name: '', useFactory: () => ({}) })).toThrow(LockOptionsError);
    await expect(start([DistributedLockModule.forRootAsync({ useFactory: () => ({ nodes: two }) })])).rejects.toThrow(
      LockOptionsError,
    );
  });

  it('refuses to start without a manager that a method needs, and names the import', async () => {
    await expect(start([])).rejects.toThrow(
      /add DistributedLockModule\.forRoot\(\) to the imports of your root module/,
    );
    const unnamed = DistributedLockModule.forRoot({ store: new MemoryStore() });
    @Injectable()
    class Typo {
      @WithLock('key', { manager: 'biling' })
      async run(): Promise<void> {}
    }
    await expect(start([unnamed], Typo)).rejects.toThrow(/DistributedLockModule\.forRoot\(\{ name: "biling" \}\)/);
  });

  it('cannot help an instance made with new, and says so', async () => {
    await expect(new Service().run()).rejects.toThrow(/Service\.run.*Get it from Nest instead of calling new/);
  });
});
