import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { KeyTemplate } from '../../lib/key-template.js';
import { toKeys } from '../../lib/lock-key.js';
import type { LockManager } from '../../lib/lock-manager.js';
import { fenceName, freeChannel, keyOf, lockName, MARKER_KEY } from '../../lib/stores/redis/key-names.js';
import { Lab, on, urls } from '../faults/lab.js';
import type { RedisServer } from '../support/redis-server.js';
import { anything, attempt, prototypes, unicode, utf16 } from './attempt.js';

const before = prototypes();
afterEach(() => expect(prototypes()).toBe(before));

/** No half of a surrogate pair in it. */
const isWhole = (text: string): boolean => Buffer.from(text).toString() === text;
const isKey = (key: string): boolean => attempt(() => toKeys(key)) !== undefined;
/** What is escaped somewhere, and what that becomes. */
const SPECIAL = [...'%{}*?[]\\^-:/. \n\0a', '%25', '%7B', '%7D', '%3A', '%2D'];
const special = (maxLength: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...SPECIAL), { maxLength }).map((pieces) => pieces.join(''));
const keys = (): fc.Arbitrary<string> => fc.oneof(unicode(), special(3), special(10)).filter(isKey);

describe('Any key', () => {
  it('is taken as it is, or refused', () => {
    fc.assert(
      fc.property(fc.oneof(anything(), fc.array(anything()), utf16(600)), (given) => {
        const taken = attempt(() => toKeys(given as string));
        if (taken === undefined) return;
        const list = (Array.isArray(given) ? given : [given]) as string[];
        expect([...taken]).toEqual([...new Set(list)].sort());
        for (const key of taken) {
          expect(isWhole(key)).toBe(true);
          expect(Buffer.byteLength(key)).toBeGreaterThan(0);
          expect(Buffer.byteLength(key)).toBeLessThanOrEqual(512);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('has names of its own, all in one slot', () => {
    const names = (key: string): string[] => [lockName(key), fenceName(key), freeChannel(key)];
    fc.assert(
      fc.property(keys(), keys(), (one, other) => {
        const all = new Set([...names(one), ...names(other), MARKER_KEY]);
        expect(all.size).toBe(one === other ? 4 : 7);
        expect(keyOf('', lockName(one))).toBe(one);
        expect(names(one).every((name) => /^lock:\{[^{}]+\}(:\w+)?$/.test(name))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('Any key on a real node', () => {
  const lab = new Lab();
  let server: RedisServer;
  let pod: LockManager;
  beforeAll(async () => {
    [server] = (await lab.start(1)) as [RedisServer];
    pod = await lab.pod({ nodes: urls([server]) });
  });
  afterAll(() => lab.end());

  it('is locked, seen, listed by any beginning of it and by nothing else, and freed', async () => {
    await fc.assert(
      fc.asyncProperty(keys(), keys(), fc.nat(), async (key, other, at) => {
        const matched = key.replace(/[*?]/g, 'a');
        const lock = await pod.acquire([key, other, matched]);
        const listed = async (prefix: string): Promise<string[]> => {
          const { locks } = await pod.list({ prefix, limit: 100 });
          return locks.map((found) => found.key).sort();
        };
        const prefix = key.slice(0, at % (key.length + 1));
        expect(await pod.isLocked(key)).toBe(true);
        if (isWhole(prefix)) {
          expect(await listed(prefix)).toEqual(lock.keys.filter((held) => held.startsWith(prefix)));
        }
        expect(await lock.release()).toBe(true);
        expect(await listed('')).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  it('is never part of a script, nor of another argument', async () => {
    const hostile = [
      '"]] redis.call("FLUSHALL") --',
      "' .. redis.call('FLUSHALL') .. '",
      'a\r\nFLUSHALL\r\n',
      '%s%n{0}',
    ];
    await on(server, (redis) => redis.set('bystander', 'safe'));
    for (const key of hostile) {
      const lock = await pod.acquire([key, `${key} too`]);
      await lock.renew();
      expect(await lock.release()).toBe(true);
    }
    expect(await on(server, (redis) => redis.get('bystander'))).toBe('safe');
  });
});

describe('Any template', () => {
  const part = (): fc.Arbitrary<string> =>
    fc
      .tuple(fc.nat(3), fc.constantFrom('', '.id', '.a.b', '.0', '.length', '.toString'))
      .map(([n, path]) => `{${n}${path}}`);
  const templates = (): fc.Arbitrary<string> =>
    fc
      .array(fc.oneof(part(), fc.constantFrom(...':-/%2→ a{}'), unicode(3)), { maxLength: 8 })
      .map((pieces) => pieces.join(''));

  it('is filled with text, or it, or what it is to be filled with, is refused', () => {
    fc.assert(
      fc.property(fc.oneof(templates(), anything()), fc.array(anything(), { maxLength: 4 }), (template, args) => {
        const key = attempt(() => new KeyTemplate(template as string).fill(args));
        if (key !== undefined) expect(typeof key).toBe('string');
      }),
      { numRuns: 5000 },
    );
  });

  it('gives two calls one key only if they are alike in all that it reads', () => {
    const words = (): fc.Arbitrary<string[]> => fc.array(special(3), { minLength: 4, maxLength: 4 });
    /** Others, or the same as they may look when they are escaped. */
    const pairs = (): fc.Arbitrary<[string[], string[]]> =>
      fc.oneof(
        fc.tuple(words(), words()),
        words().map((one): [string[], string[]] => [one, one.map(encodeURIComponent)]),
      );
    fc.assert(
      fc.property(templates(), pairs(), (template, [one, other]) => {
        const made = attempt(() => new KeyTemplate(template));
        if (!made) return;
        const [key, otherKey] = [one, other].map((args) => attempt(() => made.fill(args)));
        if (key === undefined || key !== otherKey) return;
        for (const place of made.arguments) expect(other[place]).toBe(one[place]);
      }),
      { numRuns: 5000 },
    );
  });

  it('refuses a part that is too long before it goes over it', () => {
    const template = new KeyTemplate('ticket:{0}');
    expect(template.fill(['x'.repeat(512)])).toHaveLength(519);
    expect(attempt(() => template.fill([':'.repeat(513)]))).toBeUndefined();
  });
});
