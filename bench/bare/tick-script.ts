import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { connectAll } from '../connections.js';
import { TTL_MS, type OpenLocker } from '../locker.js';
import { bareLock, type BareNode } from './bare-lock.js';

/** Owners are the arguments; the last one is the ttl. */
const TAKE = `local taken = {}
for i = 1, #KEYS do
  taken[i] = redis.call('SET', KEYS[i], ARGV[i], 'PX', ARGV[#ARGV], 'NX') and 1 or 0
end
return taken`;

const GIVE_BACK = `local given = {}
for i = 1, #KEYS do
  given[i] = redis.call('GET', KEYS[i]) == ARGV[i] and redis.call('DEL', KEYS[i]) or 0
end
return given`;

/** What one tick asks of a node goes out as one script over all keys: the least that many locks at once can take on a connection. */
export const openTickScript: OpenLocker = async (options) => {
  const clients = await connectAll(options.urls);
  const nodes = await Promise.all(clients.map(tickNode));
  return bareLock('bare, one script per tick and node', nodes, options);
};

async function tickNode(client: Redis): Promise<BareNode> {
  const [take, giveBack] = await Promise.all([batched(client, TAKE, [String(TTL_MS)]), batched(client, GIVE_BACK, [])]);
  return { take, giveBack, close: () => client.disconnect() };
}

type Answer = (answer: unknown) => void;

async function batched(client: Redis, script: string, rest: readonly string[]): Promise<BareNode['take']> {
  await client.script('LOAD', script);
  const sha = createHash('sha1').update(script).digest('hex');
  let keys: string[] = [];
  let owners: string[] = [];
  let waiting: Answer[] = [];

  const send = (): void => {
    const asked = waiting;
    const sent = client.evalsha(sha, keys.length, ...keys, ...owners, ...rest) as Promise<unknown[]>;
    [keys, owners, waiting] = [[], [], []];
    // Where the script failed, nobody has the key.
    void sent.catch((): unknown[] => []).then((answers) => asked.forEach((answer, index) => answer(answers[index])));
  };

  return (key, owner) =>
    new Promise((answer) => {
      // After all that the answers of the batch before it have set going.
      if (keys.push(key) === 1) process.nextTick(send);
      owners.push(owner);
      waiting.push(answer);
    });
}
