import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { connectAll, disconnectAll } from '../connections.js';
import { TTL_MS, type OpenLocker } from '../locker.js';

/** Takes the key, or stands in line for it. */
const ENTER = `
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end
redis.call('RPUSH', KEYS[2], ARGV[1])
return 0`;
/** Gives the key to the next in line, and tells its process: an owner is a channel, a colon and a number. */
const HAND_ON = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local next = redis.call('LPOP', KEYS[2])
if not next then redis.call('DEL', KEYS[1]) return 1 end
redis.call('SET', KEYS[1], next, 'PX', ARGV[2])
redis.call('PUBLISH', string.match(next, '^[^:]+'), next)
return 1`;
const SET_FREE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], '')
return 1`;

/**
 * The least that a lock takes which is handed on in order: one command to stand in line, one to give back. It neither notices a waiter that died, nor one that gave up, nor
 * a message that was lost, and has no token.
 */
export const openServerFifo: OpenLocker = async ({ urls }) => {
  const { client, subscriber, close } = await connectPair(urls);
  const [enter, handOn] = await load(client, ENTER, HAND_ON);
  const channel = randomUUID();
  const waiting = new Map<string, () => void>();
  await subscriber.subscribe(channel);
  subscriber.on('message', (_channel: string, owner: string) => {
    const granted = waiting.get(owner)!;
    waiting.delete(owner);
    granted();
  });
  let owners = 0;
  return {
    name: 'limit: FIFO on the server',
    role: 'limit',
    async lock(key, work) {
      const owner = `${channel}:${++owners}`;
      const told = new Promise<void>((resolve) => waiting.set(owner, resolve));
      if (await client.evalsha(enter!, 2, key, `${key}:line`, owner, TTL_MS)) waiting.delete(owner);
      else await told;
      await work?.();
      await client.evalsha(handOn!, 2, key, `${key}:line`, owner, TTL_MS);
    },
    close,
  };
};

/** Who gives the key back wakes the first who waits in each process, and those compete. */
export const openWakeAndCompete: OpenLocker = async ({ urls }) => {
  const { client, subscriber, close } = await connectPair(urls);
  const [setFree] = await load(client, SET_FREE);
  const queue: (() => void)[] = [];
  let isFree: (() => void) | undefined;
  let missed = false;
  subscriber.on('message', () => {
    missed = true;
    isFree?.();
  });
  const subscribed = new Map<string, Promise<unknown>>();
  return {
    name: 'plain publish, wake and compete',
    role: 'limit',
    async lock(key, work) {
      const owner = randomUUID();
      const channel = `${key}:free`;
      if (!subscribed.has(key)) subscribed.set(key, subscriber.subscribe(channel));
      await subscribed.get(key);
      const turn = new Promise<void>((resolve) => queue.push(resolve));
      if (queue.length > 1) await turn;
      for (;;) {
        missed = false;
        if (await client.set(key, owner, 'PX', TTL_MS, 'NX')) break;
        if (!missed) await new Promise<void>((resolve) => (isFree = resolve));
        isFree = undefined;
      }
      queue.shift();
      queue[0]?.();
      await work?.();
      await client.evalsha(setFree!, 2, key, channel, owner);
    },
    close,
  };
};

async function connectPair([url = '']: readonly string[]) {
  const clients = await connectAll([url, url]);
  const [client, subscriber] = clients as [Redis, Redis];
  return { client, subscriber, close: async () => disconnectAll(clients) };
}

async function load(client: Redis, ...scripts: string[]): Promise<string[]> {
  await Promise.all(scripts.map((script) => client.script('LOAD', script)));
  return scripts.map((script) => createHash('sha1').update(script).digest('hex'));
}
