import type { Authority, AuthorityState } from './authority.js';

export interface Move {
  readonly to: AuthorityState;
  readonly reason: string;
}

/**
 * What is to be done next, if anything; the row decides whether it may be. `drained`: this process has watched the present DRAINING for long enough that nothing Redis
 * granted is left. `trouble`: what is wrong with Redis, as this process sees it.
 */
export function nextMove({ state, pods }: Authority, drained: boolean, trouble?: string): Move | undefined {
  const { all, down, up } = pods;
  const gone = { reason: `${down} of ${all} processes have lost Redis${trouble ? `; here: ${trouble}` : ''}` };
  const back = { reason: `${up} of ${all} processes have Redis back` };
  switch (state) {
    case 'REDIS':
      return most(down, all) ? { to: 'DRAINING', ...gone } : undefined;
    case 'DRAINING':
      if (drained) return { to: 'POSTGRES', reason: 'all that Redis granted has run out or was carried over' };
      return most(up, all) ? { to: 'REDIS', ...back } : undefined;
    case 'POSTGRES':
      return most(up, all) ? { to: 'BOTH', ...back } : undefined;
    case 'BOTH':
      if (most(down, all)) return { to: 'POSTGRES', ...gone };
      return most(up, all) ? { to: 'REDIS', reason: 'no lock is left that only Postgres has' } : undefined;
  }
}

function most(some: number, all: number): boolean {
  return some * 2 > all;
}
