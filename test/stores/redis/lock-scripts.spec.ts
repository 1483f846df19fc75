import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { systemRuntime } from '../../../lib/runtime.js';
import type { NodeReply, NodeRequest, NodeVerb } from '../../../lib/stores/redis/lock-node.js';
import { MARKER_KEY, pushKeyNames } from '../../../lib/stores/redis/key-names.js';
import { ask as askNode } from './promised.js';
import { RedisNode } from '../../../lib/stores/redis/redis-node.js';
import { RedisServer, stopAll } from '../../support/redis-server.js';
import { ModelNode } from './simulation/model-node.js';
import { Prng } from '../../simulation/prng.js';

/** Long enough that nothing expires by itself while a test runs. */
const TTL_MS = 3_600_000;
const RETENTION_MS = 86_400_000;
const QUARANTINE_MS = 3_600_000;
/** More than a test takes: the model's clock stands still, that of the server does not. */
const ELAPSED_MS = 600_000;
const SLOW = 30_000;
/** What PTTL says of a key that is not there. */
const NO_KEY = -2;

function keyNames(key: string, verb: NodeVerb): [lock: string, fence: string, line?: string] {
  const names: string[] = [];
  pushKeyNames(names, key, verb);
  return names as [string, string, string?];
}

let server: RedisServer;
let client: Redis;
const nodes: RedisNode[] = [];

beforeAll(async () => {
  server = await RedisServer.start();
  client = new Redis(server.port, '127.0.0.1');
});
beforeEach(() => client.flushall());
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  client?.disconnect();
  await stopAll(server);
});

/** A node with a connection of its own. */
async function connect(quarantineMs = 0): Promise<RedisNode> {
  const terms = { name: 'n', own: true, retentionMs: RETENTION_MS, quarantineMs, log: () => undefined };
  const node = new RedisNode(new Redis(server.port, '127.0.0.1'), terms, systemRuntime.timers);
  nodes.push(node);
  await node.whenReady(SLOW);
  return node;
}

function request(verb: NodeVerb, key: string, owner: string, { ms = TTL_MS, token = 0 } = {}): NodeRequest {
  return { verb, key, owner, ms, token };
}

const ask = (node: RedisNode, ...args: Parameters<typeof request>): Promise<NodeReply> =>
  askNode(node, request(...args), SLOW);

const SLOTS = 16_384;

/** As the Redis Cluster specification has it: CRC16/XMODEM of what stands between the first brace and the next closing one. */
function slotOf(name: string): number {
  const open = name.indexOf('{');
  const close = name.indexOf('}', open + 1);
  return crc16(open >= 0 && close > open + 1 ? name.slice(open + 1, close) : name) % SLOTS;
}

function crc16(text: string): number {
  let crc = 0;
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc;
}

describe('The lock script, on a real server', () => {
  it('renews together what its owners have, says which it is not, and prolongs the fences that are named', async () => {
    const node = await connect();
    const SHORT_MS = 60_000;
    for (const key of ['a', 'b', 'c']) await ask(node, 'acquire', key, 'x', { ms: SHORT_MS });
    await client.lpush('lock:{d}', 'of another type');
    for (const key of ['a', 'b']) await client.pexpire(`lock:{${key}}:fence`, SHORT_MS);
    const names = ['a', 'b', 'c', 'd', 'e'].map((key) => `lock:{${key}}`);
    const renewals = { names: [...names, 'lock:{b}:fence'], owners: 'x\ny\nx\nx\nx\n', ms: TTL_MS };
    const refused = await new Promise((resolve, reject) =>
      node.renewAll!(renewals, SLOW, {
        renewed: (_, places) => resolve(places),
        failed: (_, why) => reject(new Error(why)),
      }),
    );
    expect(refused).toEqual([1, 3, 4]);
    const left = await Promise.all([...names, 'lock:{a}:fence', 'lock:{b}:fence'].map((name) => client.pttl(name)));
    const longs = left.map((ms) => ms > SHORT_MS);
    expect(longs).toEqual([true, false, true, false, false, false, true]);
    expect(left[4]).toBe(NO_KEY);
    expect(left[6]).toBeGreaterThan(RETENTION_MS);
  });

  describe('does what the model of the simulation does', () => {
    const VERBS: readonly NodeVerb[] = ['acquire', 'acquire', 'commit', 'renew', 'heal', 'release', 'inspect', 'mark'];
    const KEYS = ['a', 'b', 'c'];
    const OWNERS = ['x', 'y', 'z'];
    const HIGH = 1_800_000_000_000_000;

    function randomRequest(random: Prng): NodeRequest {
      const verb = random.pick(VERBS);
      const shortly = verb === 'release' && random.chance(0.7);
      const token = random.chance(0.5) ? random.below(20) : HIGH + random.below(20);
      const ms = shortly ? 0 : TTL_MS + random.below(3) * ELAPSED_MS;
      return request(verb, random.pick(KEYS), random.pick(OWNERS), { ms, token });
    }

    /** Remaining times shrink while the test runs; all else is equal to the digit. */
    function expectSame(real: NodeReply, model: NodeReply, { verb }: NodeRequest): void {
      const isTime = model.status === 'quarantined' || (verb === 'acquire' && model.status === 'no') || verb === 'mark';
      expectSameTime(isTime ? real.value : 1, isTime ? model.value : 1);
      const remaining = (reply: NodeReply): number =>
        reply.status === 'yes' ? (reply.state?.remainingMs ?? NO_KEY) : NO_KEY;
      expectSameTime(remaining(real), remaining(model));
      expect(timeless(real, isTime)).toEqual(timeless(model, isTime));
    }

    function timeless(reply: NodeReply, isTime: boolean): unknown {
      const { state, ...rest } = reply as NodeReply & { state?: { owner: string } };
      return { ...rest, value: isTime ? 0 : reply.value, owner: state?.owner };
    }

    function expectSameTime(realMs: number, modelMs: number): void {
      expect(realMs).toBeLessThanOrEqual(modelMs);
      expect(realMs).toBeGreaterThan(modelMs === NO_KEY ? NO_KEY - 1 : modelMs - ELAPSED_MS);
    }

    async function expectSameState(model: ModelNode): Promise<void> {
      for (const key of KEYS) {
        const [lock, fence] = keyNames(key, 'acquire');
        const [holder, lockMs, token, fenceMs] = await Promise.all([
          ...[client.get(lock), client.pttl(lock), client.get(fence), client.pttl(fence)],
        ] as const);
        expect({ key, holder, token: Number(token ?? 0) }).toEqual({
          ...{ key, holder: model.holder(key) ?? null },
          token: model.fence(key),
        });
        expectSameTime(Number(lockMs), model.remaining(key));
        expectSameTime(Number(fenceMs), model.fenceRemaining(key));
      }
    }

    async function forget(model: ModelNode, random: Prng): Promise<void> {
      const key = random.pick(KEYS);
      const [lock, fence] = keyNames(key, 'acquire');
      if (random.chance(0.6)) {
        model.expireLock(key);
        await client.del(lock);
      } else if (random.chance(0.7)) {
        model.expireFence(key);
        await client.del(fence);
      } else {
        model.forgetAll();
        await client.flushall();
      }
    }

    async function compare(seed: number, rounds: number, most: number, quarantineMs: number): Promise<void> {
      const random = new Prng(seed);
      const node = await connect(quarantineMs);
      const model = new ModelNode({ retentionMs: RETENTION_MS, quarantineMs }, () => 0);
      await client.flushall();
      for (let round = 0; round < rounds; round++) {
        if (random.chance(0.2)) await forget(model, random);
        // A quarantine that is just over.
        if (quarantineMs > 0 && random.chance(0.2)) {
          model.mark();
          await client.set(MARKER_KEY, Date.now() - quarantineMs);
        }
        const requests = Array.from({ length: 1 + random.below(most) }, () => randomRequest(random));
        const real = await Promise.all(requests.map((each) => askNode(node, each, SLOW)));
        const expected = requests.map((each) => model.serve(each));
        requests.forEach((each, index) => expectSame(real[index]!, expected[index]!, each));
        if (round % 5 === 0) await expectSameState(model);
      }
    }

    it.each([1, 2])('for single requests (seed %i)', (seed) => compare(seed, 1000, 1, 0));
    it.each([3, 4])('for batches (seed %i)', (seed) => compare(seed, 200, 24, 0));
    it.each([5, 6])('with a quarantine (seed %i)', (seed) => compare(seed, 400, 4, QUARANTINE_MS));
  });

  it('keeps all digits of tokens above 2^50', async () => {
    const node = await connect();
    const token = 2 ** 52 + 123_456_789;
    expect(await ask(node, 'acquire', 'a', 'x', { token })).toEqual({ status: 'yes', value: token });
    await ask(node, 'release', 'a', 'x', { ms: 0 });
    expect(await ask(node, 'acquire', 'a', 'y')).toEqual({ status: 'yes', value: token + 1 });
    expect(await ask(node, 'commit', 'a', 'y', { token: token + 2 })).toMatchObject({ status: 'yes' });
    expect(await client.get('lock:{a}:fence')).toBe('4503599750827287');
    expect(await ask(node, 'inspect', 'a', '')).toMatchObject({ status: 'yes', value: token + 2 });
  });

  it('fails a request on a key of the wrong type alone, not those that go with it', async () => {
    const node = await connect();
    await client.lpush('lock:{list}', 'not a lock');
    const outcomes = await Promise.allSettled([
      ask(node, 'acquire', 'before', 'x', { token: 7 }),
      ask(node, 'renew', 'list', 'x'),
      ask(node, 'acquire', 'after', 'x', { token: 8 }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(String((outcomes[1] as PromiseRejectedResult).reason)).toContain('WRONGTYPE');
    expect(await client.mget('lock:{before}', 'lock:{after}')).toEqual(['x', 'x']);
    expect(await client.type('lock:{list}')).toBe('list');
  });

  it.each(['{', '}', '{}', 'a{b}c', '{a}{b}', '%7B', '100%', 'plain', '}{'])(
    'keeps all names of the key %j in one slot',
    (key) => {
      const [lock, fence] = keyNames(key, 'acquire');
      const [, channel] = keyNames(key, 'release');
      const slots = [lock, fence, channel].map(slotOf);
      expect(new Set(slots).size).toBe(1);
      // Only what is in the braces counts, and that is the whole key.
      const tag = lock.slice('lock:{'.length, -1);
      expect(slots[0]).toBe(crc16(tag) % SLOTS);
      expect(decodeURIComponent(tag.replace(/%(?!7B|7D|25)/g, '%25'))).toBe(key);
    },
  );

  it('counts slots as Redis does', () => {
    expect(crc16('123456789')).toBe(0x31c3); // the check value of the specification
  });

  it('gives different keys different names', () => {
    const keys = ['{', '%7B', '%257B', '}', '%7D', '%', '%25', 'a:fence', 'a', 'a}:fence', ''];
    const names = keys.flatMap((key) => [...keyNames(key, 'acquire'), keyNames(key, 'release')[2]!]);
    expect(new Set([...names, MARKER_KEY]).size).toBe(keys.length * 3 + 1);
  });

  it('goes on unseen when the server has forgotten its scripts', async () => {
    const node = await connect();
    expect(await ask(node, 'acquire', 'a', 'x', { token: 5 })).toEqual({ status: 'yes', value: 5 });
    await client.script('FLUSH');
    const [renewed, other] = await Promise.all([ask(node, 'renew', 'a', 'x'), ask(node, 'acquire', 'b', 'x')]);
    expect([renewed, other]).toEqual([
      { status: 'yes', value: 5 },
      { status: 'yes', value: 1 },
    ]);
    await client.script('FLUSH');
    expect(await ask(node, 'release', 'a', 'x', { ms: 0 })).toMatchObject({ status: 'yes' });
  });

  it.each([
    `'..redis.call('FLUSHALL')..'`,
    `"); redis.call('FLUSHALL') --`,
    `]] redis.call('SET', 'stolen', 1) --[[`,
    'line\nredis.call("FLUSHALL")\r\n*1\r\n$8\r\nFLUSHALL\r\n',
    '\0\u0001%s%d$1${x}',
    'naïve 🔒 ключ',
  ])('takes keys and owners as plain text: %j', async (text) => {
    const node = await connect();
    await client.set('witness', 'here');
    expect(await ask(node, 'acquire', text, text, { token: 3 })).toEqual({ status: 'yes', value: 3 });
    expect(await ask(node, 'commit', text, text, { token: 4 })).toMatchObject({ status: 'yes' });
    expect(await ask(node, 'renew', text, text)).toEqual({ status: 'yes', value: 4 });
    expect(await ask(node, 'inspect', text, '')).toMatchObject({ status: 'yes', state: { owner: text } });
    expect((await client.keys('*')).sort()).toEqual([...keyNames(text, 'acquire'), 'witness'].sort());
    expect(await ask(node, 'release', text, text, { ms: 0 })).toMatchObject({ status: 'yes' });
    expect((await client.keys('*')).sort()).toEqual([keyNames(text, 'acquire')[1], 'witness'].sort());
  });

  it('lets nobody renew, commit to or release a key that was released and is kept', async () => {
    const node = await connect();
    await ask(node, 'acquire', 'a', 'x');
    expect(await ask(node, 'release', 'a', 'x', { ms: TTL_MS })).toMatchObject({ status: 'yes' });
    for (const verb of ['renew', 'commit', 'release'] as const) {
      expect(await ask(node, verb, 'a', 'x', { token: 99 })).toMatchObject({ status: 'no' });
    }
    for (const verb of ['acquire', 'heal'] as const) {
      for (const owner of ['x', 'y']) expect(await ask(node, verb, 'a', owner)).toMatchObject({ status: 'no' });
    }
    expect(await client.pttl('lock:{a}')).toBeGreaterThan(TTL_MS - ELAPSED_MS);
  });

  it('publishes on the channel of the key when it comes free, if someone listens, and not before', async () => {
    const node = await connect();
    const subscriber = client.duplicate();
    const heard: string[] = [];
    subscriber.on('message', (channel: string) => heard.push(channel));
    await subscriber.subscribe('lock:{a}:free', 'lock:{end}:free');
    await ask(node, 'acquire', 'a', 'x');
    await ask(node, 'release', 'a', 'y', { ms: 0 });
    await ask(node, 'renew', 'a', 'x');
    await askNode(node, { ...request('queue', 'a', 'z'), place: '' }, SLOW);
    expect(heard).toEqual([]);
    await ask(node, 'release', 'a', 'x', { ms: 0 });
    // Once they have been told, they are forgotten, and with them all that was kept for them.
    expect(await client.exists('lock:{a}', 'lock:{a}:free')).toBe(0);
    await ask(node, 'acquire', 'a', 'y');
    await ask(node, 'release', 'a', 'y', { ms: 0 });
    const ended = new Promise<void>((resolve) => {
      subscriber.on('message', (channel: string) => channel === 'lock:{end}:free' && resolve());
    });
    await client.publish('lock:{end}:free', '');
    await ended;
    expect(heard).toEqual(['lock:{a}:free', 'lock:{end}:free']);
    subscriber.disconnect();
  });

  it('marks a fresh node once, and gives nothing out until the mark is one quarantine old', async () => {
    const node = await connect(QUARANTINE_MS);
    await client.flushall();
    const first = await ask(node, 'acquire', 'a', 'x');
    expect(first.status).toBe('quarantined');
    expect(first.value).toBeLessThanOrEqual(QUARANTINE_MS);
    expect(first.value).toBeGreaterThan(QUARANTINE_MS - ELAPSED_MS);
    const marker = await client.get(MARKER_KEY);
    expect(Math.abs(Number(marker) - Date.now())).toBeLessThan(ELAPSED_MS);
    expect(await client.pttl(MARKER_KEY)).toBe(-1);
    expect(await client.exists('lock:{a}', 'lock:{a}:fence')).toBe(0);
    expect((await ask(node, 'acquire', 'a', 'x')).status).toBe('quarantined');
    expect(await client.get(MARKER_KEY)).toBe(marker);
    await client.set(MARKER_KEY, Date.now() - QUARANTINE_MS);
    expect((await ask(node, 'acquire', 'a', 'x')).status).toBe('yes');
  });

  it('still serves holders in quarantine, and tells others that they hold', async () => {
    const node = await connect(QUARANTINE_MS);
    await client.flushall();
    expect(await ask(node, 'heal', 'a', 'x', { token: 7 })).toMatchObject({ status: 'yes' });
    expect(await ask(node, 'renew', 'a', 'x')).toEqual({ status: 'yes', value: 7 });
    const refused = await ask(node, 'acquire', 'a', 'y');
    expect(refused.status).toBe('no');
    expect(refused.value).toBeGreaterThan(TTL_MS - ELAPSED_MS);
    expect(await ask(node, 'release', 'a', 'x', { ms: 0 })).toMatchObject({ status: 'yes' });
    expect((await ask(node, 'acquire', 'a', 'y')).status).toBe('quarantined');
  });

  it('does not abstain for longer than one quarantine when the clock of the node was set back', async () => {
    const node = await connect(QUARANTINE_MS);
    await client.set(MARKER_KEY, Date.now() + 10 * QUARANTINE_MS);
    expect(await ask(node, 'acquire', 'a', 'x')).toEqual({ status: 'quarantined', value: QUARANTINE_MS });
  });

  it('asks for no marker without a quarantine', async () => {
    const node = await connect(0);
    await ask(node, 'acquire', 'a', 'x');
    expect(await client.exists(MARKER_KEY)).toBe(0);
  });
});
