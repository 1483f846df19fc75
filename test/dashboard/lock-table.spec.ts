import { beforeEach, describe, expect, it } from '@jest/globals';
import { HoldHistory } from '../../lib/dashboard/hold-history.js';
import { holderId, LockTable } from '../../lib/dashboard/lock-table.js';
import type { LockEntry } from '../../lib/lock-info.js';

const START = 1_800_000_000_000;

const lock = (key: string, more: Partial<LockEntry> = {}): LockEntry => ({
  key,
  locked: true,
  owner: `pod-1-0123456789/${key}`,
  pod: 'pod',
  pid: 1,
  since: new Date(START),
  remainingMs: 30_000,
  fencingToken: 7,
  waiters: 0,
  ...more,
});

let history: HoldHistory;
let table: LockTable;
let now: number;

beforeEach(() => {
  history = new HoldHistory();
  table = new LockTable(history);
  now = START;
});

/** A reading of the locks, so long after the one before. */
function read(afterMs: number, locks: readonly LockEntry[], { truncated = false, tookMs = 0 } = {}): void {
  now += afterMs;
  table.take({ pages: [{ locks, askedAt: now - tookMs, answeredAt: now }], truncated, readMs: tookMs }, now);
}

const ends = (): string[] => history.since(0).map(({ key, end }) => `${key} ${end}`);

describe('The table of locks', () => {
  it('shows everything to who knows nothing, and then only what has changed', () => {
    read(0, [lock('a'), lock('b')]);
    expect(table.changesSince(undefined)).toMatchObject({ full: true, gone: [] });
    expect(table.changesSince(undefined).set.map(({ key }) => key)).toEqual(['a', 'b']);
    const known = table.version;
    read(1000, [lock('a', { remainingMs: 29_000 }), lock('c')]);
    expect(table.changesSince(known)).toEqual({ set: [expect.objectContaining({ key: 'c' })], gone: ['b'] });
    expect(table.changesSince(table.version)).toEqual({ set: [], gone: [] });
  });

  it('names a holder without its owner id', () => {
    read(0, [lock('a'), lock('b', { owner: 'someone else', pod: undefined as never, pid: undefined as never })]);
    const [a, b] = table.changesSince(undefined).set;
    expect(a).toEqual({
      ...{ key: 'a', id: expect.stringMatching(/^.{8}$/), pod: 'pod', pid: 1, since: START },
      ...{ endsAt: START + 30_000, leaseMs: 30_000, token: 7, waiters: 0 },
    });
    expect(b).toMatchObject({ pod: 'someone else' });
    expect(a!.id).not.toBe(b!.id);
  });

  it('takes a lease that runs on for unchanged, and one that got longer for renewed', () => {
    read(0, [lock('a')]);
    const known = table.version;
    read(1000, [lock('a', { remainingMs: 28_900 })]);
    expect(table.changesSince(known).set).toEqual([]);
    read(9000, [lock('a', { remainingMs: 29_990 })]);
    expect(table.changesSince(known).set).toEqual([
      expect.objectContaining({ key: 'a', endsAt: now + 29_990, leaseMs: 30_000, renewed: true }),
    ]);
  });

  it('takes no slow answer for a renewal', () => {
    read(0, [lock('a')], { tookMs: 900 });
    read(1000, [lock('a', { remainingMs: 29_000 + 850 })], { tookMs: 900 });
    expect(table.changesSince(undefined).set[0]).not.toHaveProperty('renewed');
  });

  it.each([
    ['waiters', { waiters: 2 }],
    ['a token that was raised', { fencingToken: 8 }],
    ['nodes', { nodes: { holding: 2, answering: 3, all: 3 } }],
    ['being kept', { released: true as const }],
  ])('tells of %s of the same holder', (_, change) => {
    read(0, [lock('a')]);
    const known = table.version;
    read(1000, [lock('a', { remainingMs: 29_000, ...change })]);
    expect(table.changesSince(known).set).toHaveLength(1);
    expect(ends()).toEqual([]);
  });

  it('ends a hold when another has the key, at the time it was seen', () => {
    read(0, [lock('a')]);
    const { id } = table.changesSince(undefined).set[0]!;
    read(1000, [lock('a', { owner: 'other', pod: 'other', fencingToken: 8, since: new Date(START + 900) })]);
    expect(history.since(0)).toEqual([{ key: 'a', pod: 'pod', pid: 1, token: 7, from: START, to: now, end: 'ended' }]);
    expect(table.changesSince(undefined).set[0]).toMatchObject({ pod: 'other', token: 8 });
    expect(table.changesSince(undefined).set[0]!.id).not.toBe(id);
  });

  it('says that a lease ran out where nobody renewed it, and when', () => {
    read(0, [lock('a'), lock('b')]);
    read(29_000, [lock('a', { remainingMs: 1000 }), lock('b')]);
    read(2000, [lock('b', { owner: 'other', fencingToken: 9 })]);
    expect(ends().sort()).toEqual(['a expired', 'b ended']);
    expect(history.since(0).find(({ key }) => key === 'a')).toMatchObject({ to: START + 30_000 });
  });

  it('does not say so of one that was given back before its time, or kept for its minHold', () => {
    read(0, [lock('a'), lock('b', { released: true })]);
    read(20_000, [lock('a', { remainingMs: 10_000 }), lock('b', { released: true, remainingMs: 10_000 })]);
    read(1000, [lock('b', { released: true, remainingMs: 9000 })]);
    read(20_000, []);
    expect(ends()).toEqual(['a ended', 'b ended']);
  });

  it('does not say so of one that was well when it was seen last, though its lease would be over by now', () => {
    read(0, [lock('a', { remainingMs: 900 })]);
    read(1000, [lock('a', { remainingMs: 1000 })]);
    read(2000, []);
    expect(ends()).toEqual(['a ended']);
  });

  it('says which were released by force', () => {
    read(0, [lock('a'), lock('b')]);
    table.force('a', holderId(lock('a').owner!), now);
    expect(ends()).toEqual(['a forced']);
    read(1000, [lock('a', { owner: 'other', fencingToken: 8 })]);
    read(1000, []);
    expect(ends()).toEqual(['a forced', 'b ended', 'a ended']);
  });

  it('blames no force on a holder who was there before or after the one that suffered it', () => {
    read(0, [lock('a')]);
    table.force('a', holderId('one in between'), now);
    read(1000, [lock('a', { owner: 'other', fencingToken: 9 })]);
    read(1000, []);
    expect(ends()).toEqual(['a ended', 'a ended']);
  });

  it('takes back an end when the same holder is there again', () => {
    read(0, [lock('a')]);
    read(1000, []);
    expect(ends()).toEqual(['a ended']);
    const known = table.version;
    read(1000, [lock('a', { remainingMs: 28_000 })]);
    expect(ends()).toEqual([]);
    expect(table.changesSince(known)).toMatchObject({ set: [{ key: 'a' }], gone: [] });
  });

  it('leaves out what only a minority of the nodes has, unless silent nodes leave that open', () => {
    read(0, [lock('a'), lock('b', { locked: false, nodes: { holding: 1, answering: 3, all: 3 } })]);
    read(1000, [lock('a', { locked: false, nodes: { holding: 1, answering: 2, all: 3 } })]);
    expect(table.changesSince(undefined).set.map(({ key }) => key)).toEqual(['a']);
    read(1000, [lock('a', { locked: false, nodes: { holding: 1, answering: 3, all: 3 } })]);
    expect(table.changesSince(undefined).set).toEqual([]);
  });

  it('takes what is missing in a list that was cut off for unseen, not for ended', () => {
    read(0, [lock('a'), lock('b')], { truncated: true });
    const known = table.version;
    read(1000, [lock('b')], { truncated: true });
    expect(table.changesSince(known).gone).toEqual(['a']);
    expect(ends()).toEqual([]);
  });

  it('remembers a bounded number of keys that came free, and shows all to who is further behind', () => {
    read(0, [lock('first')]);
    const known = table.version;
    read(
      1000,
      Array.from({ length: 6000 }, (_, index) => lock(`a${index}`)),
    );
    const later = table.version;
    read(
      1000,
      Array.from({ length: 6000 }, (_, index) => lock(`b${index}`)),
    );
    expect(table.changesSince(later).gone).toHaveLength(6000);
    expect(table.changesSince(later)).not.toHaveProperty('full');
    read(1000, []);
    expect(table.changesSince(known)).toEqual({ full: true, set: [], gone: [] });
    expect(table.changesSince(later)).toEqual({ full: true, set: [], gone: [] });
  });
});
