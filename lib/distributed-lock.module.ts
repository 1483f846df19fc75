import {
  ConfigurableModuleBuilder,
  Inject,
  Logger,
  Module,
  type BeforeApplicationShutdown,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type OnModuleInit,
} from '@nestjs/common';
import { APP_FILTER, ModulesContainer } from '@nestjs/core';
import { toSettings, type DistributedLockModuleOptions, type LockModuleSettings } from './distributed-lock.options.js';
import { LockOptionsError } from './errors.js';
import { LockExceptionFilter } from './lock-exception.filter.js';
import { LockManager } from './lock-manager.js';
import { bindLockManagers } from './nest/lock-binding.js';
import { checkedManagerName, importOf, lockManagerToken } from './nest/lock-tokens.js';
import type { Runtime } from './runtime.js';
import type { LockStore } from './stores/lock-store.js';
import { connectRedis } from './stores/redis/redis.store.js';
import type { Telemetry } from './telemetry/open-telemetry.js';

/** What goes beside the options, of `forRoot` as of `forRootAsync`. */
export interface DistributedLockModuleExtras {
  /** Whether other modules see the manager without importing this one. Default true. */
  isGlobal?: boolean | undefined;
  /** Makes this a second, separate manager: `@WithLock(key, { manager: name })`, `@InjectLockManager(name)`. */
  name?: string | undefined;
}

/** What a class given as `useClass` or `useExisting` implements. */
export interface DistributedLockOptionsFactory {
  /** What `forRoot` would be given. */
  createLockOptions(): DistributedLockModuleOptions | Promise<DistributedLockModuleOptions>;
}

/** `useFactory` with `inject`, `useClass` or `useExisting`, with `imports` for what they need. */
export type DistributedLockModuleAsyncOptions = ConfigurableModuleAsyncOptions<
  DistributedLockModuleOptions,
  'createLockOptions'
> &
  DistributedLockModuleExtras;

const SETTINGS = Symbol('nestjs-fenced-lock: settings');
const MANAGER = Symbol('nestjs-fenced-lock: manager of this module');
const NAME = Symbol('nestjs-fenced-lock: name of this module');

const logger = new Logger('DistributedLockModule');

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<DistributedLockModuleOptions>({
  moduleName: 'DistributedLock',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createLockOptions')
  .setExtras<DistributedLockModuleExtras>({ isGlobal: true, name: undefined }, complete)
  .build();

/** The only wiring: options → store → manager, its place in Nest's injection, and its end at shutdown. */
@Module({})
export class DistributedLockModule extends ConfigurableModuleClass implements OnModuleInit, BeforeApplicationShutdown {
  constructor(
    @Inject(MANAGER) private readonly manager: LockManager,
    @Inject(SETTINGS) private readonly settings: LockModuleSettings,
    @Inject(NAME) private readonly name: { readonly value: string | undefined },
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {
    super();
  }

  /** @throws LockOptionsError at once for options that make no sense. */
  static override forRoot(options: DistributedLockModuleOptions & DistributedLockModuleExtras = {}): DynamicModule {
    toSettings(withoutExtras(options));
    return super.forRoot(options);
  }

  /** The same with options that come from a provider: `useFactory`, `useClass` or `useExisting`. `isGlobal` and `name` go beside it. */
  static override forRootAsync(options: DistributedLockModuleAsyncOptions): DynamicModule {
    return super.forRootAsync(options);
  }

  /** @internal */
  onModuleInit(): void {
    this.#refuseNamesake();
    bindLockManagers(this.modules.values());
  }

  /**
   * @internal
   * In this hook, and awaited, for two reasons: Nest next waits for open HTTP requests, so those that wait for a lock must be told now; and database modules close
   * in the hook after that, while work under locks still needs them.
   */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.#ownsManager()) await this.manager.shutdown(this.settings.shutdownTimeoutMs);
  }

  /** Not so after `overrideProvider(LockManager)`. */
  #ownsManager(): boolean {
    return this.manager instanceof LockManager;
  }

  #refuseNamesake(): void {
    for (const { instance, isGlobal } of this.modules.values() as Iterable<{ instance: unknown; isGlobal: boolean }>) {
      if (!isGlobal || !(instance instanceof DistributedLockModule) || instance === this) continue;
      if (instance.name.value !== this.name.value) continue;
      const remedy = `${importOf(this.name.value)} is imported twice, and which manager a class gets would be chance; import it once.`;
      throw new LockOptionsError('name', this.name.value, remedy);
    }
  }
}

function withoutExtras(
  options: DistributedLockModuleOptions & DistributedLockModuleExtras,
): DistributedLockModuleOptions {
  if (typeof options !== 'object' || options === null) return options;
  const { isGlobal: _, name: __, ...own } = options;
  return own;
}

function complete(definition: DynamicModule, extras: DistributedLockModuleExtras): DynamicModule {
  const { isGlobal = true, name } = extras;
  if (name !== undefined) checkedManagerName(name);
  if (typeof isGlobal !== 'boolean') throw new LockOptionsError('isGlobal', isGlobal, 'give true or false.');
  const token = lockManagerToken(name);
  return {
    ...definition,
    global: isGlobal,
    providers: [
      ...(definition.providers ?? []),
      { provide: NAME, useValue: { value: name } },
      { provide: SETTINGS, useFactory: toSettings, inject: [MODULE_OPTIONS_TOKEN] },
      { provide: token, useFactory: createManager, inject: [SETTINGS, NAME] },
      { provide: MANAGER, useExisting: token },
      { provide: APP_FILTER, useClass: LockExceptionFilter },
    ],
    exports: [token],
  };
}

async function createManager(settings: LockModuleSettings, name: { value: string | undefined }): Promise<LockManager> {
  const log = { warn: (message: string) => logger.warn(message) };
  const { defaults, runtime } = settings;
  const telemetry = settings.telemetry ? await loadTelemetry(runtime) : undefined;
  const options = {
    ...{ defaults, log },
    ...(name.value === undefined ? {} : { name: name.value }),
    ...(telemetry ? { tracer: telemetry.tracer } : {}),
  };
  const locks = new LockManager(await openStore(settings), options, runtime);
  telemetry?.measure(locks);
  return locks;
}

/** What only some applications need is loaded by those: here, and in `openStore`. */
async function loadTelemetry({ clock }: Runtime): Promise<Telemetry | undefined> {
  const { openTelemetry } = await import('./telemetry/open-telemetry.js');
  const telemetry = await openTelemetry(clock);
  if (!telemetry) logger.warn('telemetry is on, but @opentelemetry/api is not installed');
  return telemetry;
}

async function openStore({ source, ttlMs, nodeTimeout, quarantine, runtime }: LockModuleSettings): Promise<LockStore> {
  const context = { ttlMs, log: (message: string) => logger.warn(message) };
  if ('store' in source) return 'open' in source.store ? source.store.open(context, runtime) : source.store;
  const { nodes, fallback } = source;
  const options = {
    ...{ nodes, ...context },
    ...(nodeTimeout === undefined ? {} : { nodeTimeout }),
    ...(quarantine === undefined ? {} : { quarantine }),
  };
  const redis = await connectRedis(options, runtime);
  if (!fallback) return redis;
  try {
    const standIn = await fallback.source.open(context, runtime);
    const { openFailover } = await import('./stores/failover/open-failover.js');
    return await openFailover(redis, standIn, fallback.terms, context, runtime);
  } catch (error) {
    await redis.close?.();
    throw error;
  }
}
