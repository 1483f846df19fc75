import { Controller, Post } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';

@Controller('billing')
export class BillingController {
  constructor(private readonly scheduler: SchedulerRegistry) {}

  /** The job is registered but stopped at first, so that the other acts can be watched in peace. */
  @Post('start')
  start(): void {
    this.scheduler.getCronJob('billing').start();
  }
}
