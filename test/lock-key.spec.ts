import { describe, expect, it } from '@jest/globals';
import { LockOptionsError } from '../lib/errors.js';
import { toKeys } from '../lib/lock-key.js';

describe('toKeys', () => {
  it('keeps a key exactly', () => {
    for (const key of ['a', ' a ', 'A{b}%:\n', '日本語 😀', 'e\u0301', '\u00e9']) expect(toKeys(key)).toEqual([key]);
  });

  it('sorts several keys and names each once, without touching the list that was given', () => {
    const given = Object.freeze(['b', 'a', 'b', 'B']);
    expect(toKeys(given)).toEqual(['B', 'a', 'b']);
  });

  it('sorts the same way in every process, whatever its locale', () => {
    expect(toKeys(['ä', 'z', 'a', 'Z', '10', '9'])).toEqual(['10', '9', 'Z', 'a', 'z', 'ä']);
  });

  it.each([
    ['512 bytes', 'x'.repeat(512)],
    ['512 bytes in wide characters', '字'.repeat(170) + 'xx'],
    ['a whole surrogate pair', '\u{1F600}'],
  ])('takes a key of %s', (_description, key) => {
    expect(toKeys(key)).toEqual([key]);
  });

  it.each<[string, unknown]>([
    ['an empty key', ''],
    ['an empty list', []],
    ['an empty key in a list', ['a', '']],
    ['513 bytes', 'x'.repeat(513)],
    ['513 bytes in few characters', '字'.repeat(171)],
    ['10 KB', 'x'.repeat(10_240)],
    ['half a surrogate pair', 'a\ud800'],
    ['undefined', undefined],
    ['null', null],
    ['a number', 42],
    ['an object', {}],
    ['an undefined key in a list', ['a', undefined]],
    ['a list in a list', [['a']]],
  ])('refuses %s', (_description, keys) => {
    expect(() => toKeys(keys as string)).toThrow(LockOptionsError);
  });

  it('takes at most 100 keys, counted without repetitions', () => {
    const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`);
    expect(toKeys([...keys, ...keys])).toHaveLength(100);
    expect(() => toKeys([...keys, 'one more'])).toThrow(LockOptionsError);
  });

  it('does not repeat a long key in its message', () => {
    expect(() => toKeys('x'.repeat(10_240))).toThrow(/^.{1,300}$/);
  });
});
