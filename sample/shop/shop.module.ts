import { Module, type DynamicModule } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { DistributedLockModule, type DistributedLockModuleOptions } from 'nestjs-fenced-lock';
import { LockDashboardModule } from 'nestjs-fenced-lock/dashboard';
import { Database } from '../database/database.js';
import { BillingController } from './billing.controller.js';
import { BillingService } from './billing.service.js';
import { HealthController } from './health.controller.js';
import { JobsController } from './jobs.controller.js';
import { Journal } from './journal.js';
import { Partners } from './partners.js';
import { PodName } from './pod-name.js';
import { ReportsController } from './reports.controller.js';
import { ThisMachineGuard } from './this-machine.guard.js';
import { TicketsController } from './tickets.controller.js';
import { TransfersController } from './transfers.controller.js';
import { TransfersService } from './transfers.service.js';

export interface ShopOptions {
  readonly name: string;
  readonly locks: DistributedLockModuleOptions;
  readonly database: Database;
  readonly journal: Journal;
  readonly partners: Partners;
}

@Module({})
export class ShopModule {
  static forPod({ name, locks, database, journal, partners }: ShopOptions): DynamicModule {
    return {
      module: ShopModule,
      imports: [
        ScheduleModule.forRoot(),
        DistributedLockModule.forRoot(locks),
        LockDashboardModule.forRoot({ path: '/locks', guards: [ThisMachineGuard], release: true }),
      ],
      controllers: [
        HealthController,
        TicketsController,
        TransfersController,
        ReportsController,
        BillingController,
        JobsController,
      ],
      providers: [
        BillingService,
        TransfersService,
        { provide: Database, useValue: database },
        { provide: Journal, useValue: journal },
        { provide: Partners, useValue: partners },
        { provide: PodName, useValue: new PodName(name) },
      ],
    };
  }
}
