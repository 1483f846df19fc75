import { Controller, Get, ServiceUnavailableException } from '@nestjs/common';
import { LockManager, LockUnavailableError } from 'nestjs-fenced-lock';
import { PodName } from './pod-name.js';

@Controller('health')
export class HealthController {
  constructor(
    private readonly locks: LockManager,
    private readonly pod: PodName,
  ) {}

  /** Ready once the stores grant locks: not while Redis nodes are out of reach or still in quarantine. */
  @Get()
  async ready(): Promise<void> {
    try {
      await this.locks.withLock(`health:${this.pod.value}`, () => undefined);
    } catch (error) {
      // Expected for a while after the start, so this is not worth the warning that the library's own filter would log.
      if (error instanceof LockUnavailableError) throw new ServiceUnavailableException(error.message);
      throw error;
    }
  }
}
