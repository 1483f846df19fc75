import { Inject, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { HealthIndicatorService } from '@nestjs/terminus';
import type { LockHealth } from '../lock-health.js';
import type { LockManager } from '../lock-manager.js';
import { lockManagerToken } from '../nest/lock-tokens.js';

/** As terminus wants it: by the name of the check. */
export type LockHealthResult = Record<
  string,
  { readonly status: 'up' | 'degraded' | 'down' } & Record<string, unknown>
>;

/** Whose health it is. */
export interface LockHealthOptions {
  /** The manager of `forRoot({ name })`. Default: the one without a name. */
  readonly manager?: string;
}

/** What is used of terminus; not all of its versions know of `degraded`. */
interface HealthSession {
  up(details: object): LockHealthResult;
  down(details: object): LockHealthResult;
  degraded?(details: object): LockHealthResult;
}

/**
 * For a `/health` endpoint of @nestjs/terminus: `() => this.locks.isHealthy('locks')`. `down` means that nothing can be locked. A node of several that is away or in
 * quarantine, a fallback that stands in, or renewals that are late are `degraded`, which does not fail the check: restarting the pod would not help.
 * The result names nodes, states and latencies; no key, owner or password.
 */
@Injectable()
export class LockHealthIndicator {
  constructor(
    @Inject(HealthIndicatorService) private readonly indicators: { check(key: string): object },
    @Inject(ModuleRef) private readonly modules: ModuleRef,
  ) {}

  /** Never rejects because of a store; takes as long as its slowest node may. */
  async isHealthy(key = 'locks', { manager }: LockHealthOptions = {}): Promise<LockHealthResult> {
    const locks = this.modules.get<LockManager>(lockManagerToken(manager), { strict: false });
    const { status, ...details }: LockHealth = await locks.health();
    const session = this.indicators.check(key) as HealthSession;
    if (status === 'down') return session.down(details);
    if (status === 'up') return session.up(details);
    return session.degraded ? session.degraded(details) : session.up({ ...details, degraded: true });
  }
}
