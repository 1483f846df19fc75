import { hostname } from 'node:os';
import { describe, expect, it, jest } from '@jest/globals';
import { Owners, readOwner } from '../lib/owner.js';
import { systemRuntime } from '../lib/runtime.js';

const AT = { monotonic: 5, wall: Date.UTC(2031, 4, 6, 7, 8, 9, 10) };

describe('An owner', () => {
  it('is never made twice, neither by one manager nor by two', () => {
    const makers = [new Owners(systemRuntime.random), new Owners(systemRuntime.random)];
    const made = Array.from({ length: 2000 }, (_, index) => makers[index % 2]!.next(AT));
    expect(new Set(made).size).toBe(made.length);
  });

  it('cannot be guessed from the numbers that Math.random gives out: it has none of them in it', () => {
    const guess = jest.spyOn(Math, 'random').mockReturnValue(0.5);
    try {
      const made = Array.from({ length: 1000 }, () => new Owners(systemRuntime.random, 'host').next(AT));
      expect(new Set(made.map((owner) => /-([0-9a-f]{12})\//.exec(owner)![1])).size).toBe(made.length);
      expect(guess).not.toHaveBeenCalled();
    } finally {
      guess.mockRestore();
    }
  });

  it('says who asked, and when', () => {
    const owner = new Owners(systemRuntime.random, 'billing-7c9-x2x9k').next(AT);
    expect(readOwner(owner)).toEqual({ pod: 'billing-7c9-x2x9k', pid: process.pid, since: new Date(AT.wall) });
    // On the way back from Postgres to Redis it gets a second one there.
    expect(readOwner(`${owner}/again`)).toEqual(readOwner(owner));
  });

  it('begins alike for all of a manager, and has the name of this host', () => {
    const owners = new Owners(systemRuntime.random);
    const [one, other] = [owners.next(AT), owners.next({ ...AT, wall: AT.wall + 1 })];
    expect(one.split('/')[0]).toBe(other.split('/')[0]);
    expect(
      one.startsWith(
        hostname()
          .replace(/[^\w.-]/g, '-')
          .slice(-48),
      ),
    ).toBe(true);
  });

  it.each([
    ['a host/with spaces', 'a-host-with-spaces'],
    ['x'.repeat(60) + 'end', 'x'.repeat(45) + 'end'],
    ['ключ', '----'],
    ['', 'unnamed'],
  ])('has neither space nor slash in its host, and is short (%j)', (host, pod) => {
    const owner = new Owners(systemRuntime.random, host).next(AT);
    expect(owner).toMatch(/^[\w.-]+\/[0-9a-z]+-[0-9a-z]+$/);
    expect(owner.length).toBeLessThan(100);
    expect(readOwner(owner)?.pod).toBe(pod);
  });

  it.each(['', 'o', 'a/b', 'contract/4f', 'released/x', '3fa9c1d2/0b9e'])(
    'that was not made here says nothing (%j)',
    (owner) => {
      expect(readOwner(owner)).toBeUndefined();
    },
  );
});
