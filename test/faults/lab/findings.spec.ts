import { describe, expect, it } from '@jest/globals';
import { adapterOf } from './adapters.js';
import { findingsOf, type Evidence } from './findings.js';
import { violations } from './limits.js';
import type { HoldRecord, Write } from './messages.js';

const KEY = 'job';
let token = 0;

/** From its entry to its exit a holder believes, and writes last of all. */
function hold(worker: string, entry: number, exit: number, more: Partial<HoldRecord> = {}): HoldRecord {
  return {
    ...{ worker, key: KEY, startedAt: entry - 5, entry, exit, token: ++token, long: false, toldAt: null },
    ...{ believed: [[entry, exit]], writes: [written(exit)], releaseMs: 3, releaseError: null },
    ...more,
  };
}

function written(at: number, held = true): Write {
  return { guard: 'none', held, at, outcome: 'written' };
}

function evidence(holds: readonly HoldRecord[], more: Partial<Evidence> = {}): Evidence {
  return {
    ...{ key: KEY, victim: 'a', quietAt: 0, brokenAt: 1000, healedAt: 2000, wokeAt: null, recoveredAt: 2100, holds },
    entries: holds.map(({ worker, entry, token: own, long }) => ({ worker, at: entry, token: own, long })),
    ...{ killed: [], log: [], values: { none: 0, write: 0, claim: 0 } },
    ...{ failures: 0, rejections: [], crashes: [], timers: [], left: { keys: [], stuck: [], withoutTtl: [] } },
    ...more,
  };
}

/** Orderly: one after the other, ten in each second. */
function orderly(): HoldRecord[] {
  return Array.from({ length: 30 }, (_, index) => hold(index % 2 ? 'a' : 'b', index * 100 + 10, index * 100 + 60));
}

describe('The checker of the fault lab', () => {
  it('finds nothing where there is nothing', () => {
    const findings = findingsOf(evidence(orderly()));
    expect(findings).toMatchObject({ overlapMs: 0, tokensBackwards: 0, tokensRepeated: 0, losses: 0, wrongChecks: 0 });
    expect(findings).toMatchObject({ quietPerSecond: 10, served: 1, nextEntryMs: 10, entryAfterHealingMs: 10 });
    expect(violations(findings, ['overlap', 'no losses', 'minority'], adapterOf('ours-3'))).toEqual([]);
  });

  it('sums up for how long two believed to hold, the time in which one of them slept left out', () => {
    const sleeper = hold('a', 100, 900, { believed: [[100, 200], [850, 900]] }); // prettier-ignore
    const findings = findingsOf(evidence([sleeper, hold('b', 150, 300), hold('c', 400, 600), hold('d', 880, 950)]));
    expect(findings.overlapMs).toBe(50 + 20);
    expect(findings.wrongChecks).toBe(1);
  });

  it('counts who was killed while it held among those who believed', () => {
    const held = { worker: 'a', at: 100, token: 1, long: true };
    const second = hold('b', 1100, 1200);
    const entries = [held, { worker: 'b', at: 1100, token: 2, long: false }];
    const findings = findingsOf(evidence([second], { entries, killed: [{ worker: 'a', at: 1150 }] }));
    expect(findings.overlapMs).toBe(50);
    expect(findings.nextEntryMs).toBe(100);
  });

  it('counts lost updates and stale writes by what the database took', () => {
    const counter = `${KEY}:claim`;
    const log = [10, 20, 15, 30].map((entry) => ({ counter, entry }));
    const findings = findingsOf(evidence(orderly(), { log, values: { none: 0, write: 0, claim: 3 } }));
    expect(findings.lostUpdates).toEqual({ none: 0, write: 0, claim: 1 });
    expect(findings.staleWrites).toEqual({ none: 0, write: 0, claim: 1 });
    const broken = violations(findings, [], adapterOf('ours-3'));
    expect(broken).toEqual(['1 updates lost under a claim', '1 stale writes accepted under a claim']);
  });

  it('takes no token for lower whose lock was asked for before the other was granted', () => {
    const earlier = hold('a', 100, 200, { token: 7 });
    const racing = hold('b', 210, 250, { token: 5, startedAt: 90 });
    expect(findingsOf(evidence([earlier, racing])).tokensBackwards).toBe(0);
    const late = hold('b', 210, 250, { token: 5, startedAt: 150 });
    expect(findingsOf(evidence([earlier, late])).tokensBackwards).toBe(1);
    expect(findingsOf(evidence([earlier, { ...late, token: 7 }]))).toMatchObject({ tokensRepeated: 1 });
  });

  it('measures when a holder was told from its waking, and holds it against the next entry', () => {
    const told = hold('a', 900, 1700, { long: true, toldAt: 1620, writes: [written(1650, false)] });
    const findings = findingsOf(evidence([told, hold('b', 1500, 1550)], { wokeAt: 1600 }));
    expect(findings).toMatchObject({ toldMs: 20, toldBeforeNextEntry: false, checkSaid: 'lost', losses: 1 });
    expect(findingsOf(evidence([told]))).toMatchObject({ toldMs: 620, toldBeforeNextEntry: null });
  });

  it.each([
    ['wake', { checkSaid: 'held' }, 'the check before the next write said held'],
    ['wake', { checkSaid: 'lost', toldMs: 81 }, 'told 81 ms after waking (at most 50 ms)'],
    ['deadline', { toldMs: 2009 }, 'told 2009 ms after the fault (at most 1978 ms)'],
    ['deadline', { toldMs: 1, toldBeforeNextEntry: false }, 'another got in before the holder was told'],
    ['renewal', { toldMs: null }, 'the holder was not told after the fault'],
    ['minority', { served: 0.79, releaseMs: 1 }, 'only 79 % of the entries of the quiet window'],
    ['minority', { served: 1, releaseMs: 51 }, 'releases took 51 ms (at most 50 ms)'],
    ['kill', { nextEntryMs: 2131 }, 'next entry 2131 ms after the kill (at most 2100 ms)'],
    ['healing', { entryAfterHealingMs: 131 }, 'next entry 131 ms after healing (at most 100 ms)'],
    ['quarantine', { entryAfterHealingMs: null }, 'nobody got in after healing'],
    ['no losses', { losses: 2 }, '2 locks were counted as lost for nothing'],
    ['overlap', { overlapMs: 1 }, 'two awake holders for 1 ms (at most 0 ms)'],
  ] as const)('says what is wrong: %s, %j', (limit, seen, words) => {
    const findings = { ...findingsOf(evidence(orderly())), ...seen };
    expect(violations(findings, [limit], adapterOf('ours-3'))).toContain(words);
  });

  it.each([
    [{ rejections: 1 }, '1 unhandled rejections'],
    [{ crashes: 1 }, '1 crashes'],
    [{ keysLeft: 1 }, '1 keys left after release'],
    [{ stuckKeys: 1 }, '1 keys that outlive their ttl'],
    [{ keysWithoutTtl: 1 }, '1 keys without a ttl'],
    [{ timersLeft: 1 }, '1 timers left after release'],
    [{ recoveryMs: null }, 'not all workers were served again'],
  ])('says what is wrong in any fault: %j', (seen, words) => {
    expect(violations({ ...findingsOf(evidence(orderly())), ...seen }, [], adapterOf('ours-3'))).toEqual([words]);
  });
});
