import {
  Inject,
  Logger,
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type OnModuleInit,
} from '@nestjs/common';
import type { LockManager } from '../lock-manager.js';
import { lockManagerToken } from '../nest/lock-tokens.js';
import { LockBoard } from './lock-board.js';
import { dashboardController } from './lock-dashboard.controller.js';
import { toDashboardSettings, type DashboardSettings, type LockDashboardOptions } from './lock-dashboard.options.js';

const SETTINGS = Symbol('nestjs-fenced-lock: settings of the dashboard');
const logger = new Logger('LockDashboardModule');
const log = (message: string): void => logger.warn(message);

/** One page that shows every lock, live: `LockDashboardModule.forRoot({ path: '/locks', guards: [AdminGuard] })`. */
@Module({})
export class LockDashboardModule implements OnModuleInit, BeforeApplicationShutdown {
  constructor(
    @Inject(LockBoard) private readonly board: LockBoard,
    @Inject(SETTINGS) private readonly settings: DashboardSettings,
  ) {}

  /** @throws LockOptionsError at once without `guards` or `allowUnguarded: true`, and for options that make no sense. */
  static forRoot(options: LockDashboardOptions): DynamicModule {
    const settings = toDashboardSettings(options);
    return {
      module: LockDashboardModule,
      imports: [...settings.imports],
      controllers: [dashboardController(settings)],
      providers: [
        { provide: SETTINGS, useValue: settings },
        {
          provide: LockBoard,
          useFactory: (locks: LockManager) => new LockBoard(locks, { release: settings.release, log }),
          inject: [lockManagerToken(settings.manager)],
        },
      ],
    };
  }

  /** @internal */
  onModuleInit(): void {
    const { guards, path, release } = this.settings;
    if (guards.length > 0) return;
    const may = release ? 'sees every lock, and can release it' : 'sees every lock';
    log(`The dashboard at /${path} has no guard of its own: whoever reaches this port ${may}.`);
  }

  /**
   * @internal
   * In this hook, since Nest next waits for requests that are open: a stream would never end by itself.
   */
  beforeApplicationShutdown(): void {
    this.board.close();
  }
}
