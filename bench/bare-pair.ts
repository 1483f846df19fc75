import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { connectAll, disconnectAll } from './connections.js';
import { POLL_MS, TTL_MS, type Locker, type LockerOptions } from './locker.js';

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;
const RELEASE_SHA = createHash('sha1').update(RELEASE).digest('hex');

/** The least that a lock on Redis takes: SET NX PX, and a script that deletes the key if it is still ours. On several nodes: to all at once, a majority decides. */
export async function openBarePair({ urls, waits }: LockerOptions): Promise<Locker> {
  const clients = await connectAll(urls);
  await Promise.all(clients.map((client) => client.script('LOAD', RELEASE)));
  const quorum = Math.floor(clients.length / 2) + 1;
  const ask = clients.length === 1 ? one(clients[0]!) : (send: Send) => majority(clients, quorum, send);

  return {
    name: waits ? `bare SET NX PX, polled every ${POLL_MS} ms` : 'bare SET NX PX + EVALSHA',
    async lock(key, work) {
      const owner = randomUUID();
      while (!(await ask((client) => client.set(key, owner, 'PX', TTL_MS, 'NX')))) {
        if (!waits) throw new Error(`${key} is taken`);
        await sleep(POLL_MS * (0.5 + Math.random()));
      }
      await work?.();
      await ask((client) => client.evalsha(RELEASE_SHA, 1, key, owner));
    },
    close: () => disconnectAll(clients),
  };
}

type Send = (client: Redis) => Promise<unknown>;

function one(client: Redis) {
  return async (send: Send): Promise<boolean> => Boolean(await send(client));
}

/** Resolves as soon as a majority agrees or cannot any more, as the contenders may. */
function majority(clients: readonly Redis[], quorum: number, send: Send): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let yes = 0;
    let open = clients.length;
    for (const client of clients) {
      send(client).then((answer) => {
        open--;
        if (answer && ++yes === quorum) resolve(true);
        else if (yes + open < quorum) resolve(false);
      }, reject);
    }
  });
}
