import { describe, expect, it } from '@jest/globals';
import { MemoryStore } from 'nestjs-fenced-lock';
import { admit, openProven, type Entrant } from '../../bench/entrant.js';
import { proveExclusion } from '../../bench/exclusion.js';
import type { Locker } from '../../bench/locker.js';

type Lock = Locker['lock'];
type Locking = (key: string, work: (() => Promise<void>) | undefined) => Promise<void>;

function opening(lock: Locking, closed: string[] = []) {
  let opened = 0;
  return async (): Promise<Locker> => {
    const name = `locker ${++opened}`;
    const take: Lock = (key, work) => lock(key, work);
    return { name, role: 'peer', lock: take, close: async () => void closed.push(name) };
  };
}

/** One key space for all who are opened with it. */
function exclusive(waits: boolean): Locking {
  const store = new MemoryStore();
  let owners = 0;
  let last: Promise<unknown> = Promise.resolve();
  return async (key, work) => {
    const owner = String(++owners);
    if (waits) {
      const before = last;
      let done = (): void => undefined;
      last = new Promise<void>((resolve) => (done = resolve));
      await before;
      await work?.();
      return done();
    }
    if (!(await store.acquire(key, owner, 30_000)).acquired) throw new Error('taken');
    await work?.();
    await store.release(key, owner);
  };
}

describe('the proof that a contender excludes', () => {
  it.each([false, true])('lets one pass that does (waits: %p)', async (waits) => {
    const closed: string[] = [];
    await proveExclusion(opening(exclusive(waits), closed));
    expect(closed).toHaveLength(2);
  });

  it('catches one that lets two in at once', async () => {
    const closed: string[] = [];
    const open = opening(async (_key, work) => work?.(), closed);
    await expect(proveExclusion(open)).rejects.toThrow('does not exclude: two held bench:exclusion at once');
    expect(closed).toHaveLength(2);
  });

  it('catches one that never lets the next in', async () => {
    let taken = false;
    const open = opening(async (_key, work) => {
      if (taken) throw new Error('taken for good');
      taken = true;
      await work?.();
    });
    await expect(proveExclusion(open)).rejects.toThrow('taken for good');
  });
});

describe('the field of a comparison', () => {
  const fair: Entrant = { id: 'fair', open: opening(exclusive(false)) };
  const unfair: Entrant = { id: 'unfair', open: opening(async (_key, work) => work?.()), peerName: 'unfair 1.0' };
  const enter = (entrant: Entrant): Promise<Locker> => openProven(entrant, { urls: [], waits: false });

  it('leaves a peer out that does not exclude or cannot run, and says why', async () => {
    const absent: Entrant = {
      id: 'absent',
      peerName: 'absent 2.0',
      open: () => Promise.reject(new Error('not there')),
    };
    const { admitted, leftOut } = await admit([fair, unfair, absent], enter);
    expect(admitted).toHaveLength(1);
    expect(leftOut).toEqual([
      'unfair 1.0: locker 1 does not exclude: two held bench:exclusion at once',
      'absent 2.0: not there',
    ]);
  });

  it('does without none of the others', async () => {
    const { peerName: _, ...ours } = unfair;
    await expect(admit([fair, ours], enter)).rejects.toThrow('does not exclude');
  });
});
