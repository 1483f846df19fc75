import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Module } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import type { INestApplication } from '@nestjs/common';
import { DistributedLockModule, LockManager, MemoryStore } from 'nestjs-fenced-lock';
import { LockHealthIndicator } from 'nestjs-fenced-lock/terminus';
import type { StoreHealth } from '../../lib/stores/store-health.js';
import { altered } from '../support/manual-locks.js';

@Controller('health')
class HealthController {
  constructor(
    @Inject(HealthCheckService) private readonly health: HealthCheckService,
    @Inject(LockHealthIndicator) private readonly locks: LockHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  check() {
    return this.health.check([
      () => this.locks.isHealthy('locks') as never,
      () => this.locks.isHealthy('billing', { manager: 'billing' }) as never,
    ]);
  }
}

@Module({
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [LockHealthIndicator],
})
class HealthModule {}

let app: INestApplication | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function ask(health: StoreHealth): Promise<{ status: number; body: Record<string, any> }> {
  const store = altered(new MemoryStore(), { check: () => Promise.resolve(health) });
  const testing = await Test.createTestingModule({
    imports: [
      DistributedLockModule.forRoot({ store }),
      DistributedLockModule.forRoot({ store: new MemoryStore(), name: 'billing' }),
      HealthModule,
    ],
  }).compile();
  app = testing.createNestApplication();
  await app.listen(0, '127.0.0.1');
  await using _ = await app.get(LockManager).acquire('customer:4711');
  const answer = await fetch(`${await app.getUrl()}/health`);
  return { status: answer.status, body: (await answer.json()) as Record<string, any> };
}

describe('The health indicator', () => {
  it('is up with what it knows of its nodes, and names no key', async () => {
    const { status, body } = await ask({ status: 'up', nodes: [{ node: 'a:6379', state: 'up', latencyMs: 0.5 }] });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'ok',
      info: {
        locks: { status: 'up', nodes: [{ node: 'a:6379', state: 'up', latencyMs: 0.5 }], held: 1, lateRenewals: 0 },
        billing: { status: 'up', nodes: [], held: 0 },
      },
    });
    expect(JSON.stringify(body)).not.toContain('4711');
  });

  it('fails no check while it is only degraded', async () => {
    const { status, body } = await ask({ status: 'degraded', nodes: [], authority: 'POSTGRES' });
    expect(status).toBe(200);
    expect(body['status']).toBe('degraded');
    expect(body['details']['locks']).toMatchObject({ status: 'degraded', authority: 'POSTGRES' });
  });

  it('fails the check when nothing can be locked', async () => {
    const { status, body } = await ask({
      status: 'down',
      nodes: [{ node: 'a:6379', state: 'down', reason: 'refused' }],
    });
    expect(status).toBe(503);
    expect(body['error']['locks']).toMatchObject({ status: 'down', nodes: [{ reason: 'refused' }] });
  });
});
