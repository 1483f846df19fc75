import { describe, expect, it } from '@jest/globals';
import { Prng } from '../simulation/prng.js';
import { fits, type Window } from './exhaustive.js';
import { violations } from './fenced-mutex.js';
import type { MutexTerms, Operation } from './operation.js';

const TTL = 100;
const TERMS: MutexTerms = { validity: (ttlMs) => ttlMs, freedAfterMs: 5, forgetful: false };

type Outcome = Operation['outcome'];

function operation(
  what: Operation['what'],
  attempt: string,
  at: [number, number],
  outcome: Outcome,
  token?: number,
): Operation {
  const [invokedAt, answeredAt] = at;
  const known = token === undefined ? {} : { token };
  return { process: `p${attempt}`, key: 'k', attempt, what, invokedAt, answeredAt, outcome, ttlMs: TTL, ...known };
}
const granted = (attempt: string, from: number, until: number, token: number): Operation =>
  operation('acquire', attempt, [from, until], 'ok', token);
const refused = (attempt: string, from: number, until: number): Operation =>
  operation('acquire', attempt, [from, until], 'no');
const unanswered = (attempt: string, from: number, until = Infinity): Operation =>
  operation('acquire', attempt, [from, until], 'unknown');
const renewed = (attempt: string, from: number, until: number, outcome: Outcome = 'ok'): Operation =>
  operation('renew', attempt, [from, until], outcome);
const released = (attempt: string, from: number, until: number, outcome: Outcome = 'ok'): Operation =>
  operation('release', attempt, [from, until], outcome);

const BAD: readonly (readonly [string, string, readonly Operation[]])[] = [
  ['two holders at once', 'two holders', [granted('a', 0, 1, 5), granted('b', 10, 11, 6)]],
  [
    'two holders, of whom one releases later',
    'two holders',
    [granted('a', 0, 1, 5), granted('b', 10, 11, 6), released('a', 20, 21)],
  ],
  ['a holder let in just before a lease is over', 'two holders', [granted('a', 0, 1, 5), granted('b', 98, 99, 6)]],
  [
    'a holder let in although a renewal was accepted',
    'two holders',
    [granted('a', 0, 1, 5), renewed('a', 90, 91), granted('b', 120, 121, 6)],
  ],
  [
    'a third holder, let in by the release of the second',
    'two holders',
    [granted('a', 0, 1, 5), unanswered('b', 10, 20), released('a', 60, 61), granted('c', 40, 41, 7)],
  ],
  [
    'a token given twice',
    'token repeated',
    [granted('a', 0, 1, 5), released('a', 2, 3), granted('b', 4, 5, 5), released('b', 6, 7)],
  ],
  [
    'a token given twice, at the same time',
    'token repeated',
    [granted('a', 0, 9, 5), released('a', 10, 11), granted('b', 8, 20, 5)],
  ],
  [
    'a token lower than one given before',
    'token backwards',
    [granted('a', 0, 1, 5), released('a', 2, 3), granted('b', 4, 5, 4), released('b', 6, 7)],
  ],
  [
    'a lower token long after, with others in between',
    'token backwards',
    [granted('a', 0, 1, 5), released('a', 2, 3), granted('b', 4, 5, 9), released('b', 6, 7), granted('c', 900, 901, 7)],
  ],
  [
    'a lower token, though the calls overlap: the order of the holders is known',
    'two holders',
    [granted('a', 0, 10, 5), released('a', 20, 21), granted('b', 8, 30, 4)],
  ],
  [
    'a release accepted from one who was refused',
    'not granted',
    [granted('a', 0, 1, 5), refused('b', 10, 11), released('b', 12, 13)],
  ],
  [
    'a release accepted from one who had no answer, but never from the holder',
    'not granted',
    [unanswered('b', 10, 20), released('b', 22, 23)],
  ],
  [
    'a release accepted after another was let in',
    'two holders',
    [granted('a', 0, 1, 5), granted('b', 150, 151, 6), released('a', 160, 161), released('b', 170, 171)],
  ],
  [
    'a release accepted twice',
    'released after it was gone',
    [granted('a', 0, 1, 5), released('a', 2, 3), released('a', 4, 5)],
  ],
  [
    'a renewal accepted after the release',
    'renewed after it was gone',
    [granted('a', 0, 1, 5), released('a', 2, 3), renewed('a', 4, 5)],
  ],
  [
    'a renewal accepted after the loss was told',
    'renewed after it was gone',
    [granted('a', 0, 1, 5), renewed('a', 200, 201, 'no'), renewed('a', 202, 203)],
  ],
  [
    'a renewal accepted after another was let in',
    'two holders',
    [granted('a', 0, 1, 5), granted('b', 150, 151, 6), released('b', 160, 161), renewed('a', 170, 171)],
  ],
  [
    'a renewal accepted between two holds of another',
    'two holders',
    [
      granted('a', 0, 1, 5),
      granted('b', 150, 151, 6),
      released('b', 160, 161),
      renewed('a', 170, 171),
      granted('c', 180, 181, 7),
    ],
  ],
  [
    'a loss told while the lease was valid',
    'lost before its time',
    [granted('a', 0, 1, 5), renewed('a', 50, 51, 'no')],
  ],
  [
    'a refusal while nobody had the key',
    'while nobody had it',
    [granted('a', 0, 1, 5), released('a', 2, 3), refused('b', 20, 21)],
  ],
  ['a refusal long after a lease was over', 'while nobody had it', [granted('a', 0, 1, 5), refused('b', 120, 121)]],
  ['a refusal before anyone asked', 'while nobody had it', [refused('b', 0, 1), granted('a', 2, 3, 5)]],
];

const GOOD: readonly (readonly [string, readonly Operation[]])[] = [
  ['one after the other', [granted('a', 0, 1, 5), released('a', 2, 3), granted('b', 4, 5, 6), released('b', 6, 7)]],
  [
    'calls that overlap, the grant before the answer of the release',
    [granted('a', 0, 1, 5), released('a', 10, 30), granted('b', 5, 12, 6)],
  ],
  [
    'an acquire that takes long, asked before and granted after another came and went',
    [granted('a', 0, 50, 6), granted('b', 10, 12, 5), released('b', 14, 15)],
  ],
  [
    'a holder let in when the lease of one that never released is over',
    [granted('a', 0, 1, 5), granted('b', 100, 101, 6)],
  ],
  [
    'a holder let in before a late release, whose lease was over and who is told so',
    [granted('a', 0, 1, 5), granted('b', 105, 106, 6), released('a', 110, 111, 'no')],
  ],
  [
    'a release without an answer that did happen',
    [granted('a', 0, 1, 5), released('a', 2, 40, 'unknown'), granted('b', 10, 11, 6)],
  ],
  [
    'a release without an answer that did not happen',
    [granted('a', 0, 1, 5), released('a', 2, 40, 'unknown'), refused('b', 50, 51), granted('c', 101, 102, 6)],
  ],
  [
    'an acquire without an answer that did happen: others are refused until its ttl is over',
    [unanswered('a', 0, 10), refused('b', 50, 51), granted('c', 112, 113, 6)],
  ],
  ['an acquire without an answer that did not happen', [unanswered('a', 0, 10), granted('b', 2, 3, 6)]],
  [
    'a renewal without an answer that did happen',
    [granted('a', 0, 1, 5), renewed('a', 90, 95, 'unknown'), refused('b', 150, 151)],
  ],
  [
    'a renewal without an answer that did not happen',
    [granted('a', 0, 1, 5), renewed('a', 90, 95, 'unknown'), granted('b', 101, 102, 6)],
  ],
  [
    'a renewal that was accepted late, since nobody else had asked',
    [granted('a', 0, 1, 5), renewed('a', 150, 151), granted('b', 251, 252, 6)],
  ],
  [
    'a release that was accepted late, since nobody else had asked',
    [granted('a', 0, 1, 5), released('a', 150, 151), granted('b', 152, 153, 6)],
  ],
  [
    'a renewal and a release that cross',
    [granted('a', 0, 1, 5), released('a', 10, 30), renewed('a', 11, 20), granted('b', 25, 31, 6)],
  ],
  ['refusals by contenders of whom none wins', [refused('a', 0, 5), refused('b', 3, 8)]],
  [
    'tokens with gaps, and keys apart',
    [granted('a', 0, 1, 5), { ...granted('b', 0, 1, 5), key: 'other' }, released('a', 2, 3), granted('c', 4, 5, 5000)],
  ],
  [
    'a process that dies holding: its calls never end',
    [granted('a', 0, 1, 5), renewed('a', 50, Infinity, 'unknown'), granted('b', 101, 102, 6)],
  ],
];

describe('The checker of histories against a fenced mutex', () => {
  it.each(BAD)('rejects %s', (_, why, history) => {
    expect(violations(history, TERMS).join('\n')).toContain(why);
  });

  it.each(GOOD)('accepts %s', (_, history) => {
    expect(violations(history, TERMS)).toEqual([]);
  });

  it('does not mind in which order a history is written down', () => {
    const random = new Prng(1);
    for (const [, , history] of BAD) {
      const shuffled = [...history].sort(() => random.fraction() - 0.5);
      expect(violations(shuffled, TERMS)).not.toEqual([]);
    }
    for (const [, history] of GOOD) expect(violations([...history].reverse(), TERMS)).toEqual([]);
  });

  it('takes a killed process for a holder until then, and not for longer', () => {
    const killed = { ...TERMS, killedAt: { pa: 40 } };
    expect(violations([granted('a', 0, 1, 5), granted('b', 45, 46, 6)], killed)).toEqual([]);
    expect(violations([granted('a', 0, 1, 5), renewed('a', 30, 31), granted('b', 41, 42, 6)], killed)).toEqual([]);
    for (const history of [
      [granted('a', 0, 1, 5), granted('b', 30, 31, 6)],
      [granted('b', 0, 1, 5), granted('a', 20, 21, 6)],
    ]) {
      expect(violations(history, killed).join()).toContain('two holders');
    }
  });

  it('lets a store that may forget say so early, but not let another in', () => {
    const forgetful = { ...TERMS, forgetful: true };
    expect(violations([granted('a', 0, 1, 5), renewed('a', 50, 51, 'no')], forgetful)).toEqual([]);
    expect(violations([granted('a', 0, 1, 5), granted('b', 50, 51, 6)], forgetful)).not.toEqual([]);
  });

  it('finds what trying all moments and orders finds, no more and no less', () => {
    const random = new Prng(7);
    const count = { good: 0, bad: 0 };
    for (let round = 0; round < 20_000; round++) {
      const tokens = random.chance(0.2) ? [1, 2, 2, 3] : [1, 2, 3, 4];
      const windows = Array.from({ length: 2 + random.below(3) }, (): Window => {
        const from = random.below(8);
        const until = from + random.below(5);
        const [token] = tokens.splice(random.below(tokens.length), 1);
        return { token: token!, from, until, heldUntil: until + random.below(3) };
      });
      // As releases whose answer never came: what is known of the end is that it was not before.
      const history = windows.flatMap(({ from, until, heldUntil, token }, index) => [
        granted(`${index}`, from, until, token),
        released(`${index}`, heldUntil, Infinity, 'unknown'),
      ]);
      const good = fits(windows);
      count[good ? 'good' : 'bad']++;
      expect({ windows, good: violations(history, TERMS).length === 0 }).toEqual({ windows, good });
    }
    expect(count.good).toBeGreaterThan(2000);
    expect(count.bad).toBeGreaterThan(2000);
  });

  it('takes a moment for tens of thousands of operations, good or bad', () => {
    const history: Operation[] = [];
    for (let turn = 0, at = 0; turn < 10_000; turn++, at += 10) {
      history.push(
        granted(`${turn}`, at - 25, at + 1, turn),
        refused(`r${turn}`, at + 1, at + 4),
        released(`${turn}`, at + 5, at + 9),
      );
    }
    const startedAt = performance.now();
    expect(violations(history, TERMS)).toEqual([]);
    const repeated = history.map((each) => (each.token === 7000 ? { ...each, token: 6999 } : each));
    expect(violations(repeated, TERMS)).not.toEqual([]);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
