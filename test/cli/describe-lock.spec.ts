import { describe, expect, it } from '@jest/globals';
import { details, printable, table } from '../../lib/cli/describe-lock.js';

const NOW = new Date('2031-05-06T07:08:09.500Z');
const ago = (ms: number): Date => new Date(NOW.getTime() - ms);

describe('What the command line shows of locks', () => {
  it('is a table, in the order of the keys', () => {
    const held = { locked: true, owner: 'o', pid: 7, fencingToken: 17, waiters: 2 };
    const text = table(
      [
        { ...held, key: 'job:b', pod: 'billing-x2x9k', since: ago(3_723_000), remainingMs: 29_400 },
        { ...held, key: 'job:a', pod: 'web-1', since: ago(120), remainingMs: 900 },
        { locked: true, released: true, key: 'job:c', owner: 'stranger' },
      ],
      NOW,
    );
    expect(text.split('\n')).toEqual([
      'KEY    HELD BY            FOR    TTL LEFT  TOKEN  WAITERS',
      'job:a  web-1 (7)          120ms  900ms     17     2',
      'job:b  billing-x2x9k (7)  1h2m   29s       17     2',
      'job:c  stranger, kept     -      -         -      -',
      '',
    ]);
    expect(table([], NOW)).toBe('No locks.\n');
  });

  it('counts nodes where there are several', () => {
    const text = table(
      [
        { key: 'a', locked: true, nodes: { holding: 2, answering: 2, all: 3 } },
        { key: 'b', locked: false, owner: 'o', nodes: { holding: 1, answering: 3, all: 3 } },
      ],
      NOW,
    );
    expect(text).toMatch(/NODES\na .* 2\/3, 1 silent\nb {4}o, not held .* 1\/3\n$/);
  });

  it('is one lock with all that is known of it', () => {
    const known = { locked: true, owner: 'web-1-7-0123456789ab/a-b', pod: 'web-1', pid: 7, since: ago(90_000) };
    expect(details('a', { ...known, remainingMs: 20_000, fencingToken: 5, waiters: 0 }, NOW)).toBe(
      [
        ['key       a', 'state     held', 'held by   web-1 (7)', 'owner     web-1-7-0123456789ab/a-b'],
        ['since     2031-05-06T07:06:39.500Z (1m30s)', 'ttl left  20s', 'token     5', 'waiters   0', ''],
      ]
        .flat()
        .join('\n'),
    );
    expect(details('a', { locked: false }, NOW)).toBe('key       a\nstate     free\ntoken     -\n');
  });

  it('commands no terminal', () => {
    const hostile = '\u001b[2J\u0007\r\n\u202eabc\u0000\u009b';
    expect(printable(hostile)).toBe('\\u{1b}[2J\\u{7}\\u{d}\\u{a}\\u{202e}abc\\u{0}\\u{9b}');
    expect(table([{ key: hostile, locked: true, owner: hostile }], NOW)).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  });
});
