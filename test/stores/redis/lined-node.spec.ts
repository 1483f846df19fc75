import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { systemRuntime } from '../../../lib/runtime.js';
import { freeChannel, pushKeyNames } from '../../../lib/stores/redis/key-names.js';
import type { NodeReply, NodeRequest, NodeVerb } from '../../../lib/stores/redis/lock-node.js';
import { RedisNode } from '../../../lib/stores/redis/redis-node.js';
import { RedisServer, stopAll } from '../../support/redis-server.js';
import { Prng } from '../../simulation/prng.js';
import { ask } from './promised.js';
import { LinedNode } from './simulation/lined-node.js';

/** Long enough that nothing expires by itself while a test runs. */
const TTL_MS = 3_600_000;
const SLOW = 30_000;
const KEYS = ['a', 'b'];
/** Owners and places have one length, so that none is a part of another. */
const OWNERS = ['x', 'y', 'z'];
const PLACES = ['P', 'Q', 'R', '', '', ''];
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

function lockName(key: string): string {
  const names: string[] = [];
  pushKeyNames(names, key, 'acquire');
  return names[0]!;
}

function randomRequest(random: Prng): NodeRequest {
  const verb = random.pick(VERBS);
  const kept = verb === 'release' && random.chance(0.1);
  const ms = verb === 'release' && !kept ? 0 : TTL_MS;
  const owner = verb === 'leave' ? random.pick(PLACES.filter(Boolean)) : random.pick(OWNERS);
  const place = verb === 'queue' ? { place: random.pick(['+', '-', '-', '-']) + random.pick(PLACES) } : {};
  return { verb, key: random.pick(KEYS), owner, ms, token: 0, ...place };
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
    model.subscribe((key, whose) => expected.push(`${key}: ${whose}`));
    subscriber.removeAllListeners('message');
    const channels = new Map(KEYS.map((key) => [freeChannel(key), key]));
    subscriber.on('message', (channel: string, whose: string) => said.push(`${channels.get(channel)}: ${whose}`));
    await subscriber.subscribe(...channels.keys());

    for (let round = 0; round < 700; round++) {
      const request = randomRequest(random);
      if (random.chance(0.1)) {
        model.expireLock(request.key);
        await client.del(lockName(request.key));
      }
      const real = await ask(node, request, SLOW);
      const asked = { round, ...request };
      expect({ asked, reply: timeless(real) }).toEqual({ asked, reply: timeless(model.serve(request)) });
      const [holder, line] = await client.mget(lockName(request.key), freeChannel(request.key));
      // What is kept for a moment is kept for longer here, where only one of the two clocks goes on.
      if (holder !== null) await client.pexpire(lockName(request.key), TTL_MS);
      if (line !== null) await client.pexpire(freeChannel(request.key), TTL_MS);
      expect({ asked, holder, line }).toEqual({
        asked,
        holder: model.holder(request.key) ?? null,
        line: model.line(request.key) ?? null,
      });
    }
    await subscriber.ping();
    expect(said).toEqual(expected);
    expect(expected.filter((each) => each.includes('kept for')).length).toBeGreaterThan(20);
    expect(expected.filter((each) => !each.includes('kept for')).length).toBeGreaterThan(5);
  });
});
