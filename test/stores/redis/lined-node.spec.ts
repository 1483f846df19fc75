import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { systemRuntime } from '../../../lib/runtime.js';
import { freeChannel, pushKeyNames, turnChannel } from '../../../lib/stores/redis/key-names.js';
import type { NodeReply, NodeRequest, NodeVerb } from '../../../lib/stores/redis/lock-node.js';
import { RedisNode } from '../../../lib/stores/redis/redis-node.js';
import { RedisServer, stopAll } from '../../support/redis-server.js';
import { Prng } from '../../simulation/prng.js';
import { ask } from './promised.js';
import { LinedNode } from './simulation/lined-node.js';

/** Long enough that nothing expires by itself while a test runs. */
const TTL_MS = 3_600_000;
/** Shorter than a turn. */
const SHORT_MS = 1500;
const SLOW = 30_000;
const KEYS = ['a', 'b'];
/** Owners have one length, so that none is a part of another. Nobody listens for those of r. */
const OWNERS = ['p/1', 'p/2', 'q/3', 'q/4', 'r/5', 'r/6'];
const CHANNELS = [...KEYS.map(freeChannel), ...['p', 'q'].map((process) => turnChannel('', process))];
const VERBS: readonly NodeVerb[] = ['queue', 'queue', 'queue', 'release', 'release', 'acquire', 'leave', 'undo'];

let server: RedisServer;
let client: Redis;
let subscriber: Redis;
let node: RedisNode;

beforeAll(async () => {
  server = await RedisServer.start();
  client = new Redis(server.port, '127.0.0.1');
  subscriber = client.duplicate();
  const terms = { name: 'n', own: true, retentionMs: TTL_MS, quarantineMs: 0, log: () => undefined };
  node = new RedisNode(new Redis(server.port, '127.0.0.1'), terms, systemRuntime.timers);
  await node.whenReady(SLOW);
});
afterAll(async () => {
  await node?.close();
  client?.disconnect();
  subscriber?.disconnect();
  await stopAll(server);
});

function namesOf(key: string): [lock: string, fence: string, line: string] {
  const names: string[] = [];
  pushKeyNames(names, key, 'queue');
  return names as [string, string, string];
}

/** Mostly it is the holder who gives a key back. */
function randomRequest(random: Prng, model: LinedNode): NodeRequest {
  const verb = random.pick(VERBS);
  const kept = verb === 'release' && random.chance(0.1);
  const ms = verb === 'release' && !kept ? 0 : verb === 'queue' && random.chance(0.5) ? SHORT_MS : TTL_MS;
  const place = verb === 'queue' ? { place: random.pick(['', '+', '+', `+${random.pick(OWNERS)}`]) } : {};
  const key = random.pick(KEYS);
  const holder = verb === 'release' && random.chance(0.7) ? model.holder(key) : undefined;
  return { verb, key, owner: holder ?? random.pick(OWNERS), ms, token: 0, ...place };
}

/** Time goes on for the server only. */
function timeless(reply: NodeReply): unknown {
  return reply.status === 'no' && reply.holder !== undefined ? { ...reply, value: 0 } : reply;
}

describe('The script that keeps a line, on a real server', () => {
  it.each([1, 2, 3])('does what the model of the simulation does (seed %i)', async (seed) => {
    await client.flushall();
    const random = new Prng(seed);
    const model = new LinedNode({ retentionMs: TTL_MS, quarantineMs: 0 }, () => 0);
    const [said, expected]: [string[], string[]] = [[], []];
    model.subscribe((channel, message) => CHANNELS.includes(channel) && expected.push(`${channel}: ${message}`) > 0);
    subscriber.removeAllListeners('message');
    subscriber.on('message', (channel: string, message: string) => said.push(`${channel}: ${message}`));
    await subscriber.subscribe(...CHANNELS);

    for (let round = 0; round < 700; round++) {
      const request = randomRequest(random, model);
      const names = namesOf(request.key);
      if (random.chance(0.1)) {
        model.expireLock(request.key);
        await client.del(names[0]);
      }
      if (random.chance(0.1)) {
        model.expireFence(request.key);
        await client.del(names[1]);
      }
      const real = await ask(node, request, SLOW);
      const asked = { round, ...request };
      expect({ asked, reply: timeless(real) }).toEqual({ asked, reply: timeless(model.serve(request)) });
      const [holder, fence, line] = await client.mget(...names);
      // What is kept for a moment is kept for longer here, where only one of the two clocks goes on.
      if (holder !== null) await client.pexpire(names[0], TTL_MS);
      if (line !== null) await client.pexpire(names[2], TTL_MS);
      expect({ asked, holder, fence: Number(fence), line }).toEqual({
        asked,
        holder: model.holder(request.key) ?? null,
        fence: model.fence(request.key),
        line: model.line(request.key) ?? null,
      });
    }
    await subscriber.ping();
    expect(said).toEqual(expected);
    expect(expected.filter((each) => /turn:.*: \S+ \d+ \S+$/.test(each)).length).toBeGreaterThan(15);
    for (const rare of [/turn:.*: \S+  \S+$/, /:free: /]) {
      expect(expected.filter((each) => rare.test(each)).length).toBeGreaterThan(5);
    }
  });
});
