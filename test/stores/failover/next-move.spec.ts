import { describe, expect, it } from '@jest/globals';
import type { Authority, AuthorityState } from '../../../lib/stores/failover/authority.js';
import { nextMove } from '../../../lib/stores/failover/next-move.js';
import { FallbackStandIn } from './stand-ins.js';

function next(state: AuthorityState, pods: Authority['pods'], drained = false): AuthorityState | undefined {
  return nextMove({ ...new FallbackStandIn().row, state, pods }, drained)?.to;
}

const nobody = { all: 3, down: 0, up: 0 };
const allDown = { all: 3, down: 3, up: 0 };
const allUp = { all: 3, down: 0, up: 3 };

describe('The next move', () => {
  it.each<[AuthorityState, Authority['pods'], boolean, AuthorityState | undefined]>([
    ['REDIS', allDown, false, 'DRAINING'],
    ['REDIS', allUp, false, undefined],
    ['REDIS', nobody, false, undefined],
    ['DRAINING', allDown, false, undefined],
    ['DRAINING', allDown, true, 'POSTGRES'],
    ['DRAINING', allUp, false, 'REDIS'],
    ['DRAINING', allUp, true, 'POSTGRES'],
    ['POSTGRES', allDown, false, undefined],
    ['POSTGRES', nobody, false, undefined],
    ['POSTGRES', allUp, false, 'BOTH'],
    ['BOTH', allDown, false, 'POSTGRES'],
    ['BOTH', nobody, false, undefined],
    ['BOTH', allUp, false, 'REDIS'],
  ])('from %s, with %j, drained: %j, is to %s', (state, pods, drained, to) => {
    expect(next(state, pods, drained)).toBe(to);
  });

  it('follows most of the processes, neither one of two nor half of four', () => {
    expect(next('REDIS', { all: 2, down: 1, up: 0 })).toBeUndefined();
    expect(next('REDIS', { all: 4, down: 2, up: 0 })).toBeUndefined();
    expect(next('REDIS', { all: 4, down: 3, up: 1 })).toBe('DRAINING');
    expect(next('POSTGRES', { all: 2, down: 0, up: 1 })).toBeUndefined();
    expect(next('POSTGRES', { all: 3, down: 1, up: 2 })).toBe('BOTH');
    expect(next('REDIS', { all: 0, down: 0, up: 0 })).toBeUndefined();
  });

  it('says why, with the counts', () => {
    const row = new FallbackStandIn().row;
    expect(nextMove({ ...row, pods: { all: 3, down: 2, up: 0 } }, false)?.reason).toBe(
      '2 of 3 processes have lost Redis',
    );
    expect(nextMove({ ...row, state: 'POSTGRES', pods: { all: 3, down: 1, up: 2 } }, false)?.reason).toBe(
      '2 of 3 processes have Redis back',
    );
  });
});
