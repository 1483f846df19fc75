import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { CLOSED, toFailure } from '../../lib/stores/redis/ailment.js';
import { root } from './compiler.js';
import { tables } from './markdown.js';

const text = readFileSync(join(root, 'docs/server-states.md'), 'utf8');

describe('The page on the states of a Redis', () => {
  const rows = tables(text)[0]!.rows.map(([cause = '', , waits]) => ({ cause: cause.replace(/`/g, ''), waits }));

  it('says of each who may wait for its end, as the code does', () => {
    for (const { cause, waits } of rows) {
      const { lasting = false } = toFailure('a', cause === 'closed' ? CLOSED : `${cause} and so on`);
      expect({ cause, waits }).toEqual({ cause, waits: lasting ? 'is told at once' : 'waits' });
    }
  });

  it('names those that the code names', () => {
    const named = readFileSync(join(root, 'lib/stores/redis/ailment.ts'), 'utf8').match(/\b[A-Z]{3,}[A-Z]\b/g)!;
    const words = new Set(rows.map(({ cause }) => /^[A-Z]+/.exec(cause)?.[0]));
    expect([...new Set(named)].filter((name) => name !== 'LASTING' && name !== 'CLOSED' && !words.has(name))).toEqual(
      [],
    );
  });
});
