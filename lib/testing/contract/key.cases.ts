import { strict as assert } from 'node:assert';
import { LONG_MS, type ContractCase } from './contract-trial.js';

/** The longest key in use, in bytes. */
const LONGEST = 512;

/** Keys that a store which trims, folds, escapes, pads, hashes too briefly or matches patterns would take for one another. */
const LOOKALIKES = [
  ...['a', 'A', 'á', 'a\u0301', 'ａ', 'а'], // plain, capital, composed, decomposed, full-width, Cyrillic
  ...['ß', 'ss', 'SS', 'İ', 'i', 'ı'],
  ...[' ', '  ', ' a', 'a ', 'a\n', '\na', 'a\tb', 'a b', 'a\r\nb', 'a\nb', '\u00a0', '\u200b', 'a\u0000b', 'a\u0000c'],
  ...['{', '}', '{}', '{a}', '{a}b', 'b{a}', '{a', 'a}', '{{a}}', '%7Ba%7D', '%7ba%7d'],
  ...['%', '%%', '%25', '%2525', 'a%b', '%s', '%20', '+'],
  ...[':', '::', 'a:b', 'a::b', 'a:', ':a', 'a/b', 'a\\b', 'a.b', 'a,b', 'a;b', 'a|b', '#a', '"a"', "'a'", "a'--"],
  ...['*', '?', 'a*', 'a?', '[a]', '[ab]', 'a_', '^a', '$a'],
  ...['a:fence', '{a}:fence', 'lock:{a}', 'lock:a', 'lock:{a}:fence', 'lock:{a}:free', 'lock:marker'],
  ...['0', '00', '-0', '1', '01', '1.0', '1e0', 'null', 'undefined', 'true', '__proto__', 'constructor', 'toString'],
  ...['😀', '😁', '日本語', 'ключ', 'مفتاح', '\u{1F468}\u200D\u{1F469}', '\u{1F468}\u{1F469}'],
];

export const keyCases: readonly ContractCase[] = [
  {
    name: 'keeps every key exactly, and apart from all others',
    async run(trial) {
      const suffixes = [...LOOKALIKES, ...longest(`${trial.key}/`)];
      const keys = suffixes.map((suffix) => `${trial.key}/${suffix}`);
      const grants = [];
      for (const key of keys) grants.push(await trial.granted(key));
      for (const key of keys) await trial.refused(key);
      const released = keys.filter((_, index) => index % 2 === 0);
      for (const [index, key] of keys.entries()) {
        if (!released.includes(key)) continue;
        assert.equal(await trial.store.release(key, grants[index]!.owner), true, `release of ${JSON.stringify(key)}`);
      }
      for (const key of keys) await (released.includes(key) ? trial.free(key) : trial.refused(key));
    },
  },
  {
    name: 'takes the same short keys as they are, without anything in front of them',
    async run(trial) {
      for (const key of LOOKALIKES) {
        // They may be left over from an earlier run, so all that is asked is that the store knows what it did.
        const owner = trial.owner();
        const { acquired } = await trial.store.acquire(key, owner, LONG_MS);
        assert.equal(await trial.store.release(key, owner), acquired, `release of ${JSON.stringify(key)}`);
      }
    },
  },
  {
    name: 'lets one owner hold many keys, each on its own',
    async run(trial) {
      const owner = trial.owner();
      const other = `${trial.key}/other`;
      await trial.granted(trial.key, owner);
      await trial.granted(other, owner);
      assert.equal(await trial.store.release(trial.key, owner), true);
      await trial.refused(other);
      assert.equal(await trial.store.renew(other, owner, LONG_MS), true);
      assert.equal(await trial.store.renew(trial.key, owner, LONG_MS), false);
      await trial.free();
    },
  },
];

/** Of the longest key in use, two that differ in their last character only, and two of wide characters. */
function longest(prefix: string): string[] {
  const left = LONGEST - Buffer.byteLength(prefix);
  const wide = '字'.repeat(Math.floor(left / 3) - 1);
  return [`${'x'.repeat(left - 1)}y`, `${'x'.repeat(left - 1)}z`, `${wide}字`, `${wide}学`];
}
