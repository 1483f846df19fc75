import { AuthorityLease } from '../../../lib/stores/failover/authority-lease.js';
import { PostgresStore } from '../../../lib/stores/postgres/index.js';

export type MutantName = keyof typeof MUTANTS;

/** Parts of the protocol, each taken away in this process: what do real servers show of it? The simulation finds them all. */
export const MUTANTS = {
  'no-lease': () => redefine('mayRenew', () => true),
  'no-second-look': () => {
    AuthorityLease.prototype.confirms = () => true;
  },
  'no-wait': () => {
    const { consult } = PostgresStore.prototype;
    PostgresStore.prototype.consult = async function (report) {
      const authority = await consult.call(this, report);
      return authority.state === 'DRAINING' ? { ...authority, leaseMs: 0, ttlMs: 0 } : authority;
    };
  },
  'carry-at-once': () =>
    redefine('redisIsClosed', function (this: AuthorityLease) {
      return this.authority?.state === 'DRAINING';
    }),
};

function redefine(name: 'mayRenew' | 'redisIsClosed', get: (this: AuthorityLease) => boolean): void {
  Object.defineProperty(AuthorityLease.prototype, name, { get });
}
