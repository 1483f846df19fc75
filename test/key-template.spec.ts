import { describe, expect, it } from '@jest/globals';
import { LockOptionsError } from '../lib/errors.js';
import { KeyTemplate } from '../lib/key-template.js';

const fill = (template: string, ...args: unknown[]): string => new KeyTemplate(template).fill(args);

describe('KeyTemplate', () => {
  it('fills in arguments and properties of arguments', () => {
    expect(fill('job:billing')).toBe('job:billing');
    expect(fill('ticket:{0}', '42')).toBe('ticket:42');
    expect(fill('{1}:{0}', 'a', 'b')).toBe('b:a');
    expect(fill('order:{1.customer.id}/{0}', 7, { customer: { id: 'c1' } })).toBe('order:c1/7');
    expect(fill('{0.0.id}', [{ id: 'first' }])).toBe('first');
  });

  it.each([
    [0, '0'],
    [-0, '0'],
    [1.5, '1.5'],
    [10n, '10'],
    [false, 'false'],
    ['', ''],
    [new Date(0), '1970-01-01T00%3A00%3A00.000Z'],
  ])('takes %p as a part', (value, text) => {
    expect(fill('k:{0}', value)).toBe(`k:${text}`);
  });

  it('keeps every character of a part but the escaped ones', () => {
    expect(fill('k:{0}', 'ÄÖ 日本 👩‍👧 a/b#c')).toBe('k:ÄÖ 日本 👩‍👧 a/b#c');
    expect(fill('k:{0}', '100%:x')).toBe('k:100%25%3Ax');
    expect(fill('{0}-{1}', 'a-b', 'c')).toBe('a%2Db-c');
    expect(fill('{0}→{1}', 'a→b', 'c')).toBe('a%E2%86%92b→c');
  });

  it('never gives two calls with different parts one key', () => {
    expect(fill('{0}:{1}', 'a:b', 'c')).not.toBe(fill('{0}:{1}', 'a', 'b:c'));
    const collisions: string[] = [];
    let seed = 42;
    const random = (below: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    const alphabet = [...'ab:%-_235ADF>→'];
    const word = (): string => Array.from({ length: random(5) }, () => alphabet[random(alphabet.length)]).join('');
    for (const template of ['{0}:{1}:{2}', '{0}-{1}_{2}', 'x{0}a->b{1}2_%2{2}', '{0}→{1}: {2}%', '{0}%25-{1}A:{2}']) {
      const keyTemplate = new KeyTemplate(template);
      const callOf = new Map<string, string>();
      for (let round = 0; round < 20_000; round++) {
        const parts = [word(), word(), word()];
        const key = keyTemplate.fill(parts);
        const call = JSON.stringify(parts);
        if (callOf.has(key) && callOf.get(key) !== call) collisions.push(key);
        callOf.set(key, call);
      }
    }
    expect(collisions).toEqual([]);
  });

  it.each([
    ['nothing', []],
    ['undefined', [undefined]],
    ['null', [null]],
    ['NaN', [Number.NaN]],
    ['Infinity', [Number.POSITIVE_INFINITY]],
    ['an object', [{ id: 1 }]],
    ['an array', [['a']]],
    ['a function', [() => 'a']],
    ['a symbol', [Symbol('a')]],
    ['an invalid date', [new Date(Number.NaN)]],
  ])('refuses %s as a part, naming the template and the part', (_, args) => {
    const call = (): string => fill('ticket:{0}', ...args);
    expect(call).toThrow(LockOptionsError);
    expect(call).toThrow(/\{0\} of key template "ticket:\{0\}"/);
  });

  it.each([
    ['a missing property', '{0.customer.id}', { customer: {} }],
    ['a property of nothing', '{0.customer.id}', {}],
    ['a property of text', '{0.length}', 'text'],
    ['an inherited property', '{0.id}', Object.create({ id: 'shared' })],
    ['a method of the prototype', '{0.toString}', {}],
  ])('does not read %s', (_, template, argument) => {
    expect(() => fill(template, argument)).toThrow(/it is missing in this call/);
  });

  it.each(['{0.__proto__.id}', '{0.constructor.name}', '{0.a.prototype}'])(
    'refuses the path %s at once',
    (template) => {
      expect(() => new KeyTemplate(template)).toThrow(/may not go through/);
    },
  );

  it.each(['', '{', '}', '{}', '{a}', '{0', '{-1}', '{0.}', '{0..a}', '{{0}}', 'a{0}}', '{ 0 }', undefined, 5, null])(
    'refuses the template %p at once',
    (template) => {
      expect(() => new KeyTemplate(template as string)).toThrow(LockOptionsError);
    },
  );

  it.each(['{0}{1}', '{0}and{1}', '{0}%{1}', 'a:{0}42{1}'])(
    'refuses %s, whose parts run into each other',
    (template) => {
      expect(() => new KeyTemplate(template)).toThrow(/put ':' between them/);
    },
  );
});
