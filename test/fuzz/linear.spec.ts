import { describe, expect, it } from '@jest/globals';
import { toKeys } from '../../lib/lock-key.js';
import { KeyTemplate } from '../../lib/key-template.js';
import { toSettings } from '../../lib/distributed-lock.options.js';
import { toDashboardSettings } from '../../lib/dashboard/lock-dashboard.options.js';
import { toMs } from '../../lib/duration.js';
import { toTerms } from '../../lib/lock.options.js';
import { readOwner } from '../../lib/owner.js';
import { reason } from '../../lib/stores/redis/script-answer.js';
import { toFailure } from '../../lib/stores/redis/ailment.js';
import { attempt } from './attempt.js';

/** What patterns are made of. */
const CHARACTERS = [...'{}.:%0a@/?- _A\n\ud83d'];
/** Every text that repeats one character or two; then an end that spoils a match. */
const UNITS = CHARACTERS.flatMap((one) => ['', ...CHARACTERS].map((other) => one + other));
const SHORT = 2000;
const TIMES = 10;
/** What goes over its input once takes ten times as long for ten times as much; what goes over it for each of its characters, a hundred times. */
const MOST = 40;
/** Less is noise. To go over it for each of its characters takes longer for the short one, too. */
const LEAST_MS = 0.5;
const TRIES = 8;

const args = new KeyTemplate('ticket:{0}');
const readers: [string, (text: string) => unknown][] = [
  ['a key', (text) => toKeys(text)],
  ['a list of keys', (text) => toKeys(text.split(''))],
  ['a template', (text) => new KeyTemplate(text)],
  ['what fills a template', (text) => args.fill([text])],
  ['a duration', (text) => toMs('ttl', text)],
  ['a label', (text) => toTerms({ label: text })],
  ['an unknown option', (text) => toTerms({ [text]: 1 })],
  ['a URL of a node', (text) => toSettings({ nodes: [text] })],
  ['a URL of a node with a scheme', (text) => toSettings({ nodes: [`http://${text}`] })],
  ['the path of a dashboard', (text) => toDashboardSettings({ path: `/${text}`, allowUnguarded: true })],
  ['an owner', (text) => readOwner(text)],
  ['an owner with a beginning', (text) => readOwner(`host-1-${text}`)],
  ['what a server says', (text) => [reason(new Error(text)), toFailure('a', text)]],
  ['what a server says of a script', (text) => reason(new Error(`ERR Error running script ${text}`))],
];

describe.each(readers)('Reading %s', (_, read) => {
  const timeOf = (unit: string, length: number): number => {
    const text = `${unit.repeat(length / unit.length)}!`;
    const startedAt = performance.now();
    attempt(() => read(text));
    return performance.now() - startedAt;
  };

  it('takes a time that is linear in its length, whatever is in it', () => {
    const slow = UNITS.filter((unit) => {
      let short = Number.POSITIVE_INFINITY;
      let long = Number.POSITIVE_INFINITY;
      // The least of several: whatever else the machine does only adds to it.
      for (let tries = 0; tries < TRIES; tries++) {
        short = Math.min(short, timeOf(unit, SHORT));
        long = Math.min(long, timeOf(unit, SHORT * TIMES));
        if (long <= MOST * Math.max(short, LEAST_MS)) return false;
      }
      return true;
    });
    expect(slow).toEqual([]);
  });
});
