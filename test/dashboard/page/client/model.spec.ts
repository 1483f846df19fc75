import { beforeEach, describe, expect, it } from '@jest/globals';
import { createModel, type Model } from '../../../../lib/dashboard/page/client/model.js';
import type { Hold, LockRow, Update } from '../../../../lib/dashboard/protocol.js';

const SERVER = 1_800_000_000_000;
let here: number;
let model: Model;

beforeEach(() => {
  here = 5_000_000;
  model = createModel(() => here);
});

const row = (key: string, more: Partial<LockRow> = {}): LockRow => ({ key, id: `id of ${key}`, token: 1, ...more });
const hold = (more: Partial<Hold> = {}): Hold => ({
  key: 'a',
  token: 1,
  from: SERVER - 5000,
  to: SERVER,
  end: 'ended',
  ...more,
});

/** After so long; the server's clock is elsewhere. */
function apply(afterMs: number, more: Partial<Update> = {}): void {
  here += afterMs;
  const now = SERVER + here - 5_000_000;
  model.apply({ now, set: [], gone: [], truncated: false, readMs: 1, readAt: now, holds: [], ...more });
}

describe('What the page knows', () => {
  it('are changes, on top of what was there, or everything', () => {
    apply(0, { full: true, set: [row('a'), row('b')] });
    apply(1000, { set: [row('b', { waiters: 2 }), row('c')], gone: ['a'] });
    expect([...model.rows.values()]).toEqual([row('b', { waiters: 2 }), row('c')]);
    apply(1000, { full: true, set: [row('d')] });
    expect([...model.rows.keys()]).toEqual(['d']);
  });

  it('goes by the clock of the server', () => {
    apply(0, { set: [row('a', { endsAt: SERVER + 10_000 })] });
    here += 4000;
    expect([model.now(), model.leftMs(model.rows.get('a')!)]).toEqual([SERVER + 4000, 6000]);
    here += 60_000;
    expect(model.leftMs(model.rows.get('a')!)).toBe(0);
    expect(model.leftMs(row('b'))).toBeUndefined();
  });

  it.each([
    [30_000, 'well'],
    [16_600, 'well'],
    [16_400, 'late'],
    [9100, 'late'],
    [8900, 'critical'],
    [0, 'critical'],
  ])('calls a lease of 30 s with %i ms left %s', (left, condition) => {
    const lock = row('a', { endsAt: SERVER + left, leaseMs: 30_000 });
    apply(0, { set: [lock] });
    expect(model.condition(lock)).toBe(condition);
    expect(model.condition({ ...lock, kept: true })).toBe('well');
    expect(model.condition(row('a'))).toBe('well');
  });

  it('judges a lease by the moment it was read, and while it cannot be read, by now', () => {
    const lock = row('a', { endsAt: SERVER + 1000, leaseMs: 1000 });
    apply(0, { set: [lock] });
    here += 900;
    expect(model.condition(lock)).toBe('well');
    apply(0, { readAt: SERVER, trouble: 'out of reach' });
    expect(model.condition(lock)).toBe('critical');
  });

  it('keeps who held a key, in order, and takes back what has not ended', () => {
    apply(0, { holds: [hold({ token: 1 }), hold({ token: 2, to: SERVER + 5 }), hold({ key: 'b' })] });
    apply(0, { holds: [hold({ token: 1, to: SERVER + 10, end: 'released' })] });
    expect(model.holdsOf('a').map(({ token, end }) => `${token} ${end}`)).toEqual(['2 ended', '1 released']);
    apply(0, { set: [row('a', { token: 2 })] });
    expect(model.holdsOf('a').map(({ token }) => token)).toEqual([1]);
  });

  it('is bounded, however long the page is open', () => {
    for (let round = 0; round < 20; round++) {
      apply(0, {
        holds: Array.from({ length: 1000 }, (_, index) => hold({ token: round * 1000 + index })),
        health: { status: 'up', nodes: [{ node: `pod-${round}`, state: 'up', latencyMs: 1 }] },
      });
    }
    expect(model.holdsOf('a')).toHaveLength(5000);
    expect(model.holdsOf('a')[0]).toMatchObject({ token: 15_000 });
    expect([...model.latencies.keys()]).toEqual(['pod-19']);
    for (let round = 0; round < 100; round++) {
      apply(0, { health: { status: 'down', nodes: [{ node: 'pod-19', state: 'down' }] } });
    }
    expect(model.latencies.get('pod-19')).toHaveLength(60);
  });

  it('tells of losses once each, the latest first: what ran out, and what the process was told', () => {
    const figures = { waits: [], slots: [], labels: [], lost: 2 };
    apply(0, {
      about: { manager: 'default', pod: 'p', pid: 7, release: false },
      holds: [
        hold({ token: 1, end: 'expired', to: SERVER + 1 }),
        hold({ token: 2, end: 'lost', reason: 'taken', to: SERVER + 3 }),
        hold({ token: 3, end: 'released' }),
        hold({ token: 4, end: 'forced' }),
      ],
      figures: {
        ...figures,
        losses: [
          { at: SERVER + 2, key: 'old', token: 9, heldMs: 10, reason: 'expired' },
          { at: SERVER + 3, key: 'a', token: 2, heldMs: 10, reason: 'taken' },
        ],
      },
    });
    expect(model.losses().map(({ key, token }) => `${key} ${token}`)).toEqual(['a 2', 'old 9', 'a 1']);
    expect(model.losses()[1]).toMatchObject({ pod: 'p', pid: 7, from: SERVER - 8, end: 'lost' });
  });
});
