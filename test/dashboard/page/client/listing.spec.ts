import { beforeEach, describe, expect, it } from '@jest/globals';
import { createListing, type Listing } from '../../../../lib/dashboard/page/client/listing.js';
import { createModel, type Model } from '../../../../lib/dashboard/page/client/model.js';
import type { LockRow } from '../../../../lib/dashboard/protocol.js';

const NOW = 1_800_000_000_000;
let model: Model;
let listing: Listing;

const rows: LockRow[] = [
  {
    key: 'job:b',
    id: '1',
    pod: 'blue',
    pid: 1,
    since: NOW - 10,
    endsAt: NOW + 30_000,
    leaseMs: 30_000,
    token: 3,
    waiters: 2,
  },
  {
    key: 'JOB:a',
    id: '2',
    pod: 'green',
    pid: 1,
    since: NOW - 30,
    endsAt: NOW + 5000,
    leaseMs: 30_000,
    token: 2,
    waiters: 0,
  },
  { key: 'ticket:1', id: '3', pod: 'blue', pid: 2, since: NOW - 20, token: 1 },
  { key: '<b>', id: '4' },
];

beforeEach(() => {
  model = createModel(() => NOW);
  listing = createListing(model);
  const about = { manager: 'default', pod: 'blue', pid: 1, release: false };
  model.apply({
    now: NOW,
    about,
    full: true,
    set: rows,
    gone: [],
    truncated: false,
    readMs: 0,
    readAt: NOW,
    holds: [],
  });
});

describe('The list', () => {
  it('is all of them by key', () => {
    expect(listing.keys()).toEqual(['<b>', 'JOB:a', 'job:b', 'ticket:1']);
  });

  it.each([
    ['job', ['JOB:a', 'job:b']],
    [' Ticket ', ['ticket:1']],
    ['blue', ['job:b', 'ticket:1']],
    ['<', ['<b>']],
    ['.*', []],
  ])('finds %j in keys and pods, in any case, and as it is', (query, keys) => {
    listing.choice.query = query;
    expect(listing.keys()).toEqual(keys);
  });

  it.each([
    ['late', ['JOB:a']],
    ['waited', ['job:b']],
    ['own', ['job:b']],
  ] as const)('shows those that are %s', (filter, keys) => {
    listing.choice.filter = filter;
    expect(listing.keys()).toEqual(keys);
  });

  it.each([
    ['holder', ['job:b', 'ticket:1', 'JOB:a', '<b>']],
    ['held', ['job:b', 'ticket:1', 'JOB:a', '<b>']],
    ['left', ['JOB:a', 'job:b', '<b>', 'ticket:1']],
    ['token', ['ticket:1', 'JOB:a', 'job:b', '<b>']],
    ['waiters', ['JOB:a', 'job:b', '<b>', 'ticket:1']],
  ] as const)('is sorted by %s, with what is not known last', (column, keys) => {
    listing.choice.column = column;
    expect(listing.keys()).toEqual(keys);
  });

  it('is sorted the other way round, with what is not known last again', () => {
    listing.choice.column = 'token';
    listing.choice.descending = true;
    expect(listing.keys()).toEqual(['job:b', 'JOB:a', 'ticket:1', '<b>']);
  });
});
