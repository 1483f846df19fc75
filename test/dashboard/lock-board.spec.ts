import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  LockManager,
  LockUnavailableError,
  type LockStore,
  type MemoryStore,
  type StoreObserver,
} from 'nestjs-fenced-lock';
import { LockBoard } from '../../lib/dashboard/lock-board.js';
import type { LockRow } from '../../lib/dashboard/protocol.js';
import { altered, manualLocks, steal } from '../support/manual-locks.js';
import { FakeResponse } from './fake-response.js';

let board: LockBoard;
let logged: string[];
let listings: number;
let health: 'up' | 'down';
let listError: Error | undefined;
let checkError: Error | undefined;
let observer: StoreObserver | undefined;

/** The store of the application, of which a test sees how often it is listed. */
function watched(memory: MemoryStore): LockStore {
  return altered(memory, {
    list: (query) => {
      listings++;
      return listError ? Promise.reject(listError) : memory.list(query);
    },
    check: async () => {
      if (checkError) throw checkError;
      return { status: health, nodes: [{ node: 'a:6379', state: health }] };
    },
    observe: (given) => {
      observer = given;
      return () => undefined;
    },
  });
}

let world: ReturnType<typeof manualLocks>;
let elsewhere: LockManager;

beforeEach(() => {
  [logged, listings, health, listError, checkError] = [[], 0, 'up', undefined, undefined];
  world = manualLocks(watched);
  elsewhere = new LockManager(world.memory, { name: 'elsewhere' }, world.runtime);
  board = new LockBoard(world.locks, { release: true, log: (message) => logged.push(message) }, world.runtime);
});
afterEach(() => board.close());

async function watch(): Promise<FakeResponse> {
  const response = new FakeResponse();
  board.watch(response.asResponse);
  await world.runtime.advance(0);
  return response;
}

const keysOf = (update: { set: LockRow[] }): string[] => update.set.map(({ key }) => key);

describe('The board', () => {
  it('shows everything at first, and then what has changed, every second', async () => {
    await using lock = await elsewhere.acquire('a', { ttl: '30s' });
    const viewer = await watch();
    expect(viewer.updates[0]).toMatchObject({
      about: { manager: 'default', pid: process.pid, release: true },
      full: true,
      set: [{ key: 'a', token: lock.fencingToken, endsAt: world.runtime.clock.wall() + 30_000 }],
      truncated: false,
      figures: { lost: 0 },
    });
    await using _ = await elsewhere.acquire('b');
    await lock.release();
    await world.runtime.advance(1000);
    const next = viewer.updates.at(-1);
    expect([keysOf(next), next.gone]).toEqual([['b'], ['a']]);
    expect(next.holds).toEqual([expect.objectContaining({ key: 'a', token: lock.fencingToken, end: 'ended' })]);
    expect(next).not.toHaveProperty('about');
    expect(next).not.toHaveProperty('full');
    expect(next).not.toHaveProperty('figures');
  });

  it('reads nothing while nobody watches, and once for all who do', async () => {
    await world.runtime.advance(10_000);
    expect(listings).toBe(0);
    const viewers = [await watch(), await watch(), await watch()];
    listings = 0;
    await world.runtime.advance(3000);
    expect(listings).toBe(3);
    for (const viewer of viewers) viewer.destroy();
    listings = 0;
    await world.runtime.advance(10_000);
    expect(listings).toBe(0);
    expect(world.runtime.pendingTimers).toBe(0);
  });

  it('shows to who comes later what is known, at once', async () => {
    await using _ = await elsewhere.acquire('a');
    await watch();
    listings = 0;
    const late = new FakeResponse();
    board.watch(late.asResponse);
    expect(keysOf(late.updates[0])).toEqual(['a']);
    expect(late.updates[0]).toMatchObject({ full: true, health: { status: 'up' } });
    expect(listings).toBe(0);
  });

  it('reads anew for the first who comes after a while, and remembers what this process held meanwhile', async () => {
    (await watch()).destroy();
    await world.runtime.advance(5000);
    const lock = await world.locks.acquire('a');
    await world.runtime.advance(1500);
    await lock.release();
    const viewer = await watch();
    expect(viewer.updates[0]).toMatchObject({
      set: [],
      holds: [{ key: 'a', token: lock.fencingToken, pid: process.pid, end: 'released' }],
    });
    const [{ from, to }] = viewer.updates[0].holds;
    expect(to - from).toBe(1500);
  });

  it('takes a fifth of the time at most for reading', async () => {
    const viewer = new FakeResponse();
    const list = world.memory.list.bind(world.memory);
    world.memory.list = async (query) => {
      world.runtime.pause(2000);
      return list(query);
    };
    board.watch(viewer.asResponse);
    await world.runtime.advance(0);
    listings = 0;
    await world.runtime.advance(7999);
    expect(listings).toBe(0);
    await world.runtime.advance(1);
    expect(listings).toBe(1);
  });

  it('tells why locks cannot be read, keeps what it knows, logs it once, and goes on', async () => {
    await using _ = await elsewhere.acquire('a', { ttl: '1h' });
    const viewer = await watch();
    listError = new LockUnavailableError('', [{ node: 'a:6379', reason: 'timeout' }]);
    await world.runtime.advance(2000);
    expect(viewer.updates.at(-1)).toMatchObject({
      trouble: expect.stringContaining('a:6379: timeout'),
      set: [],
      gone: [],
    });
    expect(logged).toHaveLength(1);
    listError = undefined;
    await world.runtime.advance(1000);
    expect(viewer.updates.at(-1)).not.toHaveProperty('trouble');
    expect(viewer.updates.flatMap(({ gone }) => gone as string[])).toEqual([]);
  });

  it('is soon there again after a reading that failed, however long that took', async () => {
    world.memory.list = () => {
      world.runtime.pause(5000);
      throw new LockUnavailableError('', [{ node: 'a:6379', reason: 'timeout' }]);
    };
    board.watch(new FakeResponse().asResponse);
    await world.runtime.advance(0);
    listings = 0;
    await world.runtime.advance(1999);
    expect(listings).toBe(0);
    await world.runtime.advance(1);
    expect(listings).toBe(1);
  });

  it('shows nothing of errors that are not its own', async () => {
    listError = new Error('redis://user:secret@host refused');
    const viewer = await watch();
    expect(viewer.written.join('')).not.toContain('secret');
    expect(viewer.updates[0]).toMatchObject({ trouble: expect.any(String) });
    expect(logged[0]).toContain('secret');
  });

  it('tells how the store is every three seconds, and at once when a node goes', async () => {
    const viewer = await watch();
    const told = (): string[] => viewer.updates.flatMap((update) => (update.health ? [update.health.status] : []));
    await world.runtime.advance(6000);
    expect(told()).toEqual(['up', 'up', 'up']);
    health = 'down';
    await world.runtime.advance(1000);
    expect(told()).toEqual(['up', 'up', 'up']);
    observer!.nodeDown('a:6379', 'timeout');
    await world.runtime.advance(0);
    expect(told()).toEqual(['up', 'up', 'up', 'down']);
  });

  it('survives a store that cannot tell how it is', async () => {
    checkError = new Error('no such thing');
    const viewer = await watch();
    await world.runtime.advance(4000);
    expect(viewer.updates.length).toBeGreaterThan(3);
    expect(logged).toContainEqual(expect.stringContaining('no such thing'));
  });

  it('shows what this process lost', async () => {
    const viewer = await watch();
    await world.locks.acquire('a', { ttl: '9s' });
    await steal(world.memory, 'a');
    await world.runtime.advance(5000);
    const losses = viewer.updates.flatMap((update) => update.figures?.losses ?? []);
    expect(losses.at(-1)).toMatchObject({ key: 'a', reason: 'taken' });
    expect(viewer.updates.flatMap(({ holds }) => holds as object[])).toContainEqual(
      expect.objectContaining({ key: 'a', end: 'lost', reason: 'taken' }),
    );
  });

  it('releases by force, and says that it was', async () => {
    const viewer = await watch();
    const held = await elsewhere.acquire('a', { ttl: '9s' });
    await world.runtime.advance(1000);
    const [{ id }] = viewer.updates.flatMap(({ set }) => set as LockRow[]) as [LockRow];
    await expect(board.release({ key: 'a', id })).resolves.toBe('released');
    await world.runtime.advance(10);
    expect(viewer.updates.at(-1)).toMatchObject({ gone: ['a'], holds: [{ key: 'a', end: 'forced' }] });
    await world.runtime.advance(9000);
    expect(held.held).toBe(false);
  });

  it('releases for nobody who means another holder, and nothing where nobody holds', async () => {
    const viewer = await watch();
    const first = await elsewhere.acquire('a');
    await world.runtime.advance(1000);
    const [{ id }] = viewer.updates.flatMap(({ set }) => set as LockRow[]) as [LockRow];
    await first.release();
    await using second = await elsewhere.acquire('a');
    await expect(board.release({ key: 'a', id })).resolves.toBe('moved');
    await expect(elsewhere.isLocked('a')).resolves.toBe(true);
    await second.release();
    await expect(board.release({ key: 'a', id })).resolves.toBe('free');
    await expect(board.release({ key: 'a', id: undefined })).resolves.toBe('free');
  });

  it('ends its streams and all it does when it closes, and takes no more', async () => {
    const viewer = await watch();
    expect(board.isOpen).toBe(true);
    board.close();
    expect([viewer.writableEnded, board.isOpen]).toEqual([true, false]);
    await world.runtime.advance(10_000);
    expect(world.runtime.pendingTimers).toBe(0);
    await world.locks.shutdown();
  });
});
