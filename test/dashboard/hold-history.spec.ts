import { describe, expect, it } from '@jest/globals';
import { HoldHistory } from '../../lib/dashboard/hold-history.js';
import type { Hold } from '../../lib/dashboard/protocol.js';

const hold = (more: Partial<Hold> = {}): Hold => ({
  key: 'a',
  pod: 'p',
  token: 1,
  from: 0,
  to: 10,
  end: 'ended',
  ...more,
});
const endsOf = (history: HoldHistory): string[] => history.since(0).map(({ end }) => end);

describe('The history of holds', () => {
  it('tells what was added after a number', () => {
    const history = new HoldHistory();
    history.add(hold({ token: 1 }));
    const number = history.number;
    history.add(hold({ token: 2 }));
    history.add(hold({ key: 'b', token: 2 }));
    expect(history.since(number).map(({ key, token }) => `${key}${token}`)).toEqual(['a2', 'b2']);
    expect(history.since(history.number)).toEqual([]);
  });

  it('keeps the latest thousand', () => {
    const history = new HoldHistory();
    for (let token = 1; token <= 2500; token++) history.add(hold({ token }));
    expect(history.since(0)).toHaveLength(1000);
    expect(history.since(0)[0]).toMatchObject({ token: 1501 });
  });

  it('believes the process itself before what was seen from outside, whichever comes first', () => {
    const seenFirst = new HoldHistory();
    seenFirst.add(hold({ end: 'expired' }));
    seenFirst.add(hold({ end: 'lost', reason: 'expired' }));
    const toldFirst = new HoldHistory();
    toldFirst.add(hold({ end: 'released' }));
    toldFirst.add(hold({ end: 'ended' }));
    expect([endsOf(seenFirst), endsOf(toldFirst)]).toEqual([['lost'], ['released']]);
  });

  it('does not forget that it was by force', () => {
    const history = new HoldHistory();
    history.add(hold({ end: 'lost', reason: 'taken' }));
    history.add(hold({ end: 'forced' }));
    history.add(hold({ end: 'lost', reason: 'taken' }));
    expect(history.since(0)).toEqual([expect.objectContaining({ end: 'forced', reason: 'taken' })]);
  });

  it('takes back what turns out not to have ended', () => {
    const history = new HoldHistory();
    history.add(hold());
    history.add(hold({ key: 'b', token: undefined as never, from: 7 }));
    history.retract({ key: 'a', token: 1, since: 0 });
    history.retract({ key: 'b', since: 7 });
    expect(history.since(0)).toEqual([]);
  });
});
