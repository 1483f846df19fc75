import { AuthorityLease } from '../../../../lib/stores/failover/authority-lease.js';
import type { Authority, PodReport } from '../../../../lib/stores/failover/authority.js';
import { ModelPostgres } from './model-postgres.js';

export interface Conditions {
  readonly nodes: number;
  readonly Authority: typeof AuthorityLease;
  readonly Postgres: typeof ModelPostgres;
}

export interface Scenario extends Conditions {
  readonly name: string;
  /** What the test that runs with all others asks for. 0: it shows in one run of a hundred or fewer, which takes too long there. */
  readonly runs: number;
}

const sound = { nodes: 1, Authority: AuthorityLease, Postgres: ModelPostgres };

/** The protocol as it is: not one violation. */
export const SOUND: readonly Scenario[] = [
  { name: 'one Redis', runs: 24, ...sound },
  { name: 'three Redis nodes', runs: 12, ...sound, nodes: 3 },
];

class WithoutWait extends ModelPostgres {
  override consult(report: PodReport): Authority {
    return hasty(super.consult(report));
  }
}

/** As if no lease and no ttl had to be waited for before Postgres decides. */
function hasty(authority: Authority): Authority {
  return authority.state === 'DRAINING' ? { ...authority, leaseMs: 0, ttlMs: 0 } : authority;
}

class WithoutLease extends AuthorityLease {
  override get mayRenew(): boolean {
    return true;
  }
}

class WithoutSecondLook extends AuthorityLease {
  override confirms(): boolean {
    return true;
  }
}

class CarryingAtOnce extends AuthorityLease {
  override get redisIsClosed(): boolean {
    return this.authority?.state === 'DRAINING';
  }
}

class WithoutAlone extends ModelPostgres {
  protected override get anyAlone(): boolean {
    return false;
  }
}

class WithoutEpoch extends ModelPostgres {
  protected override isEpoch(): boolean {
    return true;
  }
}

class WithoutCeiling extends ModelPostgres {
  protected override nextToken(last: number): number {
    return last + 1;
  }
}

class WithoutFloor extends ModelPostgres {
  protected override floorAfter(): number {
    return 0;
  }
}

class WithoutLead extends ModelPostgres {
  protected override leadAfter(): number {
    return 0;
  }
}

/** With one part of the protocol taken away: violations, or the check is worth nothing. */
export const BROKEN: readonly Scenario[] = [
  { name: 'without the wait', runs: 100, ...sound, Postgres: WithoutWait },
  { name: 'without the lease on the row', runs: 100, ...sound, Authority: WithoutLease },
  { name: 'without the second look', runs: 0, ...sound, Authority: WithoutSecondLook },
  { name: 'carrying over at once', runs: 0, ...sound, Authority: CarryingAtOnce },
  { name: 'without the alone mark', runs: 100, ...sound, Postgres: WithoutAlone },
  { name: 'carrying over in another epoch', runs: 0, ...sound, Postgres: WithoutEpoch },
  { name: 'without the ceiling', runs: 100, ...sound, Postgres: WithoutCeiling },
  { name: 'without the floor', runs: 100, ...sound, Postgres: WithoutFloor },
  { name: 'without the lead', runs: 500, ...sound, Postgres: WithoutLead },
];
