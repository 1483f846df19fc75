import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HttpException } from '@nestjs/common';
import { toDashboardSettings, type LockDashboardOptions } from '../../lib/dashboard/lock-dashboard.options.js';
import { toReleaseOrder } from '../../lib/dashboard/release-request.js';
import { toSettings } from '../../lib/distributed-lock.options.js';
import { toMs } from '../../lib/duration.js';
import { toTerms } from '../../lib/lock.options.js';
import { toFailoverTerms } from '../../lib/stores/failover/failover.options.js';
import { readOwner } from '../../lib/owner.js';
import type { RedisNodeOptions } from '../../lib/stores/redis/redis-client.js';
import { anything, attempt, prototypes, utf16 } from './attempt.js';

const before = prototypes();
afterEach(() => expect(prototypes()).toBe(before));

/** Objects with these options, and whatever else, of whatever value. */
function records(known: readonly string[]): fc.Arbitrary<object> {
  const names = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...known) },
    fc.constantFrom('__proto__', 'x'),
    utf16(5),
  );
  const sane = fc.constantFrom<unknown>(true, false, 30, '5s', 'throw', 'strict', 'redis://a:1', undefined);
  return fc
    .array(fc.tuple(names, fc.oneof(sane, anything())), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries) as object);
}

/** The options there are, as the refusal of another names them. */
function optionsOf(check: (options: object) => unknown): readonly string[] {
  try {
    check({ nonsense: true });
  } catch (error) {
    const [, names] = /known are ([\w, ]+)/.exec(String(error)) ?? [];
    if (names !== undefined) return names.split(', ');
  }
  throw new Error('An option that is none was not refused');
}

describe('Any options', () => {
  const runs = { numRuns: 4000 };

  it('of a lock are terms within bounds, or refused', () => {
    fc.assert(
      fc.property(fc.oneof(records(optionsOf(toTerms)), anything()), (options) => {
        const terms = attempt(() => toTerms(options as object));
        if (!terms) return;
        for (const ms of [terms.ttlMs, terms.waitMs, terms.minHoldMs]) expect(Number.isSafeInteger(ms)).toBe(true);
        expect(terms.ttlMs).toBeGreaterThanOrEqual(10);
        expect(typeof terms.autoRenew).toBe('boolean');
      }),
      runs,
    );
  });

  it.each<[string, (options: object) => unknown, (readonly string[])?]>([
    ['of the module', (options) => toSettings(options)],
    ['of a failover', (options) => toFailoverTerms(options)],
    ['of the dashboard', (options) => toDashboardSettings(options as LockDashboardOptions)],
    ['of nodes', (node) => toSettings({ nodes: [node as RedisNodeOptions] }), ['host', 'port', 'evalsha', 'tls']],
  ])('%s are taken or refused', (_, check, known = optionsOf(check)) => {
    fc.assert(
      fc.property(fc.oneof(records(known), anything()), (options) => {
        attempt(() => check(options as object));
      }),
      runs,
    );
  });

  it('that are no options are not found in what all objects inherit', () => {
    for (const text of [
      '{"__proto__": {"ttl": 1}}',
      '{"constructor": 1}',
      '{"toString": 1}',
      '{"hasOwnProperty": 1}',
    ]) {
      expect(attempt(() => toTerms(JSON.parse(text) as object))).toBeUndefined();
      expect(attempt(() => toSettings(JSON.parse(text) as object))).toBeUndefined();
    }
  });
});

describe('Any duration', () => {
  it('is a whole number of ms within its bounds, or refused', () => {
    const written = fc
      .tuple(fc.double(), fc.constantFrom('', ' ', '  '), fc.constantFrom('ms', 's', 'm', 'h', 'd', 'y', 'Ms', 'x', ''))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.oneof(written, fc.double(), anything()), (value) => {
        const ms = attempt(() => toMs('ttl', value as string, 10));
        if (ms === undefined) return;
        expect(Number.isSafeInteger(ms)).toBe(true);
        expect(ms).toBeGreaterThanOrEqual(10);
      }),
      { numRuns: 4000 },
    );
  });
});

describe('Any request for a release', () => {
  it('is an order for a key, or refused with a status', () => {
    const text = fc.oneof(fc.constantFrom('release', 'same-origin', 'application/json', '9', 'http://a'), utf16());
    const names = ['x-lock-dashboard', 'sec-fetch-site', 'content-type', 'content-length', 'origin', 'host'];
    const sound = { 'x-lock-dashboard': 'release', 'content-type': 'application/json', 'content-length': '9' };
    const headers = fc.dictionary(fc.constantFrom(...names), text).map((some) => ({ ...sound, ...some }));
    fc.assert(
      fc.property(
        fc.oneof(headers, fc.constant(sound)),
        fc.oneof(records(['key', 'id']), anything()),
        (given, body) => {
          try {
            const { key } = toReleaseOrder({ headers: given, body });
            expect(Buffer.byteLength(key)).toBeLessThanOrEqual(512);
          } catch (error) {
            expect(error).toBeInstanceOf(HttpException);
          }
        },
      ),
      { numRuns: 4000 },
    );
  });
});

describe('Any owner that is found in a store', () => {
  it('says who it is, or nothing', () => {
    fc.assert(
      fc.property(fc.oneof(utf16(), fc.string({ unit: fc.constantFrom(...'a1-./'), maxLength: 60 })), (owner) => {
        const name = readOwner(owner);
        if (name) expect(owner.startsWith(`${name.pod}-`)).toBe(true);
      }),
    );
  });
});
