import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { Redis as Valkey } from 'iovalkey';
import { LockOptionsError, StaleTokenError } from '../../lib/errors.js';
import { fencedGet, fencedSet, type ScriptingClient } from '../../lib/fencing/fenced-set.js';
import { RedisServer } from '../support/redis-server.js';

const OLD = 1_795_974_096_827_585;
const NEW = OLD + 1;
const DAY_MS = 86_400_000;

let server: RedisServer;
let redis: Redis;
let key: string;
let keys = 0;

beforeAll(async () => {
  // A cluster of one refuses, as any cluster does, a script whose keys lie in different slots.
  server = await RedisServer.start({ args: ['--cluster-enabled', 'yes'] });
  redis = new Redis(server.url);
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  for (let state = ''; !state.includes('cluster_state:ok');) state = (await redis.call('CLUSTER', 'INFO')) as string;
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(() => {
  key = `key:${++keys}`;
});

const set = (token: number, value: string, ttl?: string): Promise<void> =>
  fencedSet(redis, key, { value, token, ...(ttl !== undefined && { ttl }) });
const get = (token: number): Promise<string | null> => fencedGet(redis, key, { token });

describe('fencedSet', () => {
  it('sets what a plain GET reads, for the same and for later holders', async () => {
    await set(OLD, 'first');
    expect(await redis.get(key)).toBe('first');
    await set(OLD, 'again');
    await set(NEW, 'later');
    expect(await redis.get(key)).toBe('later');
  });

  it('refuses a lower token than one it has seen, and changes nothing', async () => {
    await set(NEW, 'later', '1h');
    const left = await redis.pttl(key);
    const refusal = set(OLD, 'stale');
    await expect(refusal).rejects.toThrow(StaleTokenError);
    await expect(refusal).rejects.toMatchObject({ resource: key, token: OLD });
    expect(await redis.get(key)).toBe('later');
    expect(await redis.pttl(key)).toBeLessThanOrEqual(left);
  });

  it('tells tokens apart up to the largest, and compares them as numbers', async () => {
    await set(9, 'small');
    await set(10, 'longer');
    await set(Number.MAX_SAFE_INTEGER, 'largest');
    await expect(set(Number.MAX_SAFE_INTEGER - 1, 'stale')).rejects.toThrow(StaleTokenError);
    await set(Number.MAX_SAFE_INTEGER, 'again');
  });

  it('goes on refusing when the value was deleted, or has expired', async () => {
    await set(NEW, 'deleted');
    await redis.del(key);
    await expect(set(OLD, 'stale')).rejects.toThrow(StaleTokenError);
    await set(NEW, 'expires', '1ms');
    while ((await redis.exists(key)) === 1);
    await expect(set(OLD, 'stale')).rejects.toThrow(StaleTokenError);
  });

  it('keeps the fence a day longer than the value, or both for ever', async () => {
    await set(OLD, 'lasts');
    expect([await redis.pttl(key), await redis.pttl(`fence:{${key}}`)]).toEqual([-1, -1]);
    await set(OLD, 'expires', '1h');
    const [value, fence] = [await redis.pttl(key), await redis.pttl(`fence:{${key}}`)];
    expect(value).toBeLessThanOrEqual(3_600_000);
    expect(fence).toBeLessThanOrEqual(3_600_000 + DAY_MS);
    expect(fence - DAY_MS).toBeGreaterThan(3_500_000);
    expect(value).toBeGreaterThan(3_500_000);
    await set(OLD, 'lasts');
    expect([await redis.pttl(key), await redis.pttl(`fence:{${key}}`)]).toEqual([-1, -1]);
  });

  const NAMES = [
    ...['plain', 'user:{42}:cart', '{42}', '42', 'fence:{43}', '43:fence', '{43}:fence', '{', '{{a}', 'a{b'],
    ...['a{b{c}d}e', 'é 漢😀 "\n', 'a {b} {c}'],
  ];

  it.each(NAMES)('keeps the fence of %j in the same Cluster slot', async (name) => {
    await fencedSet(redis, name, { value: name, token: 2 });
    expect(await redis.get(name)).toBe(name);
    await expect(fencedSet(redis, name, { value: 'stale', token: 1 })).rejects.toThrow(StaleTokenError);
  });

  it('keeps a fence of its own for each key, whatever it is called', async () => {
    // Falling tokens: of two keys with one fence, the later would be refused.
    for (const [index, name] of NAMES.entries()) await fencedSet(redis, name, { value: name, token: NEW - index });
    expect(await Promise.all(NAMES.map((name) => redis.get(name)))).toEqual(NAMES);
  });

  it.each([
    ['key', '', 'a', OLD, undefined, /^Invalid key "": give a non-empty string/],
    ['key', 1, 'a', OLD, undefined, /^Invalid key 1: give/],
    ['key', 'a}b', 'a', OLD, undefined, /^Invalid key "a}b": it has a brace outside of a hash tag/],
    ['key', '{}a{b}', 'a', OLD, undefined, /^Invalid key "{}a{b}": it has a brace/],
    ['value', 'a', undefined, OLD, undefined, /^Invalid value undefined: give text/],
    ['value', 'a', { a: 1 }, OLD, undefined, /^Invalid value object: give text.*JSON\.stringify/],
    ['token', 'a', 'a', 0, undefined, /^Invalid token 0: give `lock\.fencingToken`/],
    ['token', 'a', 'a', 2 ** 53, undefined, /^Invalid token 9007199254740992/],
    ['ttl', 'a', 'a', OLD, 0, /^Invalid ttl 0: it must be from 1 ms/],
    ['ttl', 'a', 'a', OLD, 'soon', /^Invalid ttl "soon": give seconds/],
  ])('refuses a bad %s (%j, %j, %j, %j) before it asks Redis', async (option, name, value, token, ttl, message) => {
    const client: ScriptingClient = { evalsha: async () => expect('asked').toBe('not'), eval: async () => 1 };
    const options = { value, token, ttl } as { value: string; token: number; ttl: string };
    const refusal = fencedSet(client, name as string, options);
    await expect(refusal).rejects.toThrow(LockOptionsError);
    await expect(refusal).rejects.toMatchObject({ option, message: expect.stringMatching(message) });
  });

  it.each([undefined, {}, { set: () => 1 }])('refuses %p as a client', async (client) => {
    const refusal = fencedSet(client as unknown as ScriptingClient, 'a', { value: 'a', token: 1 });
    await expect(refusal).rejects.toThrow(/^Invalid redis .*: give a client of ioredis or iovalkey/);
  });

  it('sends its script once, and again when Redis has forgotten it', async () => {
    await redis.script('FLUSH');
    const sent: string[] = [];
    const client: ScriptingClient = {
      evalsha: (...args) => (sent.push('evalsha'), redis.evalsha(...args)),
      eval: (...args) => (sent.push('eval'), redis.eval(...args)),
    };
    for (const value of ['a', 'b']) await fencedSet(client, key, { value, token: OLD });
    expect(sent).toEqual(['evalsha', 'eval', 'evalsha']);
    expect(await redis.get(key)).toBe('b');
  });

  it('passes on what Redis says against it', async () => {
    await redis.lpush(`fence:{${key}}`, 'a list');
    await expect(set(OLD, 'a')).rejects.toThrow(/^WRONGTYPE/);
  });

  it.each([
    ['ioredis 5', Redis5],
    ['iovalkey', Valkey],
  ] as const)('takes a client of %s', async (_, Client) => {
    const client = new Client(server.url);
    try {
      await fencedSet(client, key, { value: 'a', token: NEW });
      expect(await fencedGet(client, key, { token: NEW })).toBe('a');
      await expect(fencedSet(client, key, { value: 'b', token: OLD })).rejects.toThrow(StaleTokenError);
    } finally {
      client.disconnect();
    }
  });
});

describe('fencedGet', () => {
  it('reads what was set, and null where nothing is', async () => {
    expect(await get(OLD)).toBeNull();
    await set(OLD, '');
    expect(await get(OLD)).toBe('');
    await redis.set(key, 'by others');
    expect(await get(OLD)).toBe('by others');
  });

  it('has earlier holders refused from then on, whether they set or get', async () => {
    await set(OLD, 'first');
    expect(await get(NEW)).toBe('first');
    await expect(set(OLD, 'stale')).rejects.toThrow(StaleTokenError);
    await expect(get(OLD)).rejects.toThrow(StaleTokenError);
    await set(NEW, 'later');
    expect(await redis.get(key)).toBe('later');
  });

  // A capital letter is a read, a small one the write that follows from it; b is the later holder.
  it.each(['ABab', 'BAab', 'AaBb', 'ABba', 'BAba', 'BbAa'])('loses no update when two holders do %s', async (order) => {
    const tokens = { a: OLD, b: NEW };
    const seen: { a?: number; b?: number } = {};
    await redis.set(key, '0');
    let writes = 0;
    const take = async (step: string): Promise<void> => {
      const who = step.toLowerCase() as 'a' | 'b';
      if (step !== who) {
        seen[who] = Number(await get(tokens[who]));
      } else if (seen[who] !== undefined) {
        await set(tokens[who], String(seen[who] + 1));
        writes++;
      }
    };
    for (const step of order) {
      await take(step).catch((error: unknown) => expect(error).toBeInstanceOf(StaleTokenError));
    }
    expect(Number(await redis.get(key))).toBe(writes);
    expect(writes).toBe(order === 'AaBb' ? 2 : 1);
  });

  it('keeps the fence for a day where nothing was set, and as long as before where something was', async () => {
    const fence = `fence:{${key}}`;
    await get(OLD);
    expect(await redis.pttl(fence)).toBeLessThanOrEqual(DAY_MS);
    expect(await redis.pttl(fence)).toBeGreaterThan(DAY_MS - 60_000);
    await set(OLD, 'a', '2h');
    await get(NEW);
    expect(await redis.pttl(fence)).toBeGreaterThan(DAY_MS + 7_000_000);
    await redis.pexpire(fence, 1000);
    await get(NEW);
    expect(await redis.pttl(fence)).toBeGreaterThan(DAY_MS - 60_000);
    await set(NEW, 'a');
    await get(NEW);
    expect(await redis.pttl(fence)).toBe(-1);
  });
});
