import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { connectAll } from '../connections.js';
import { POLL_MS, TTL_MS, type OpenLocker } from '../locker.js';
import { bareLock, type BareNode } from './bare-lock.js';

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;
const RELEASE_SHA = createHash('sha1').update(RELEASE).digest('hex');

/** SET NX PX, and a script that deletes the key if it is still ours. */
export const openBarePair: OpenLocker = async (options) => {
  const name = options.waits ? `bare SET NX PX, polled every ${POLL_MS} ms` : 'bare SET NX PX + EVALSHA';
  return bareLock(name, (await loaded(options.urls, {})).map(pairNode), options);
};

/** The same, with what one tick sends to a node written at once by ioredis. */
export const openBarePipeline: OpenLocker = async (options) => {
  const clients = await loaded(options.urls, { enableAutoPipelining: true });
  return bareLock('bare, ioredis auto-pipelining', clients.map(pairNode), options);
};

async function loaded(urls: readonly string[], options: object): Promise<Redis[]> {
  const clients = await connectAll(urls, options);
  await Promise.all(clients.map((client) => client.script('LOAD', RELEASE)));
  return clients;
}

function pairNode(client: Redis): BareNode {
  return {
    take: (key, owner) => client.set(key, owner, 'PX', TTL_MS, 'NX'),
    giveBack: (key, owner) => client.evalsha(RELEASE_SHA, 1, key, owner),
    close: () => client.disconnect(),
  };
}
