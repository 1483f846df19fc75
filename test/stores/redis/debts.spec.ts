import { describe, expect, it } from '@jest/globals';
import { Debts } from '../../../lib/stores/redis/debts.js';
import type { NodeVerb } from '../../../lib/stores/redis/lock-node.js';

const TIMEOUT_MS = 50;

function debt(verb: NodeVerb, owner: string) {
  return { request: { verb, key: `key of ${owner}`, owner, ms: 0, token: 0 }, timeoutMs: TIMEOUT_MS };
}

function owed(debts: Debts): string[] {
  return debts.collect().map(({ request: { verb, owner } }) => `${verb} ${owner}`);
}

describe('Debts', () => {
  it('are releases that were not sent, or got no answer; once they are collected, they are settled', () => {
    const debts = new Debts();
    for (const verb of ['release', 'undo', 'renew', 'commit', 'heal', 'inspect', 'leave'] as const) {
      debts.unsent(debt(verb, 'a'));
      debts.unanswered(debt(verb, 'b'));
    }
    expect(owed(debts)).toEqual(['release a', 'release b', 'undo a', 'undo b']);
    expect(owed(debts)).toEqual([]);
  });

  it('are none for owners whom the node never heard of', () => {
    const debts = new Debts();
    for (const [verb, owner] of [
      ['acquire', 'a'],
      ['queue', 'b'],
      ['acquire', 'c'],
    ] as const)
      debts.unsent(debt(verb, owner));
    debts.unsent(debt('release', 'a'));
    debts.unsent(debt('undo', 'b'));
    debts.unsent(debt('release', 'd'));
    expect(owed(debts)).toEqual(['release d']);
    // Once that was said, it is forgotten: nobody releases twice.
    debts.unsent(debt('release', 'a'));
    expect(owed(debts)).toEqual(['release a']);
  });

  it('may be of anybody again after the node was back: renewals heal', () => {
    const debts = new Debts();
    debts.unsent(debt('acquire', 'a'));
    debts.forget();
    debts.unsent(debt('release', 'a'));
    expect(owed(debts)).toEqual(['release a']);
  });

  it('may be of those who were asked and gave no answer', () => {
    const debts = new Debts();
    debts.unanswered(debt('acquire', 'a'));
    debts.unsent(debt('release', 'a'));
    expect(owed(debts)).toEqual(['release a']);
  });

  it('are bounded, whatever is released', () => {
    const debts = new Debts();
    for (let index = 0; index < 10_000; index++) {
      debts.unsent(debt('release', `a${index}`));
      debts.unanswered(debt('undo', `b${index}`));
    }
    expect(owed(debts)).toHaveLength(4096);
  });
});
