import { describe, expect, it } from '@jest/globals';
import { LockUnavailableError } from '../../../lib/errors.js';
import { Listing } from '../../../lib/stores/redis/listing.js';
import type { LockNode, NodeReply } from '../../../lib/stores/redis/lock-node.js';
import { NodeGroup } from '../../../lib/stores/redis/node-group.js';
import { promisedNode } from './promised.js';

const HELD: NodeReply = { status: 'yes', value: 7, state: { owner: 'p/1', remainingMs: 1000 } };
const FREE: NodeReply = { status: 'no', value: 7 };

/** One that finds the key `a`, and then says this of it, or fails. */
function node(name: string, answer: NodeReply | undefined): LockNode {
  const say = (): Promise<NodeReply> => (answer ? Promise.resolve(answer) : Promise.reject(new Error('no answer')));
  return Object.assign(promisedNode(name, say), { scan: async () => ({ keys: ['a'], cursor: '' }) });
}

function listed(...answers: (NodeReply | undefined)[]) {
  const nodes = answers.map((answer, index) => node(`n${index}`, answer));
  return new Listing(new NodeGroup(nodes, 1000, { wall: () => 0 })).page({ prefix: '', limit: 10 });
}

describe('A listing', () => {
  it('has what was found and is held, once, and nothing of what has come free since', async () => {
    expect((await listed(HELD, HELD, FREE)).keys).toMatchObject([{ key: 'a', locked: true, owner: 'p/1' }]);
    expect((await listed(FREE, FREE, FREE)).keys).toEqual([]);
    expect((await listed(HELD)).keys).toMatchObject([{ key: 'a', locked: true, fencingToken: 7 }]);
  });

  it('rejects where a key was found of which too few nodes then tell anything', async () => {
    for (const answers of [[undefined], [FREE, undefined, undefined], [undefined, undefined, undefined]]) {
      const refused = await listed(...answers).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(LockUnavailableError);
      expect((refused as Error).message).toMatch(/^Locks could not be listed: n\d: no answer/);
    }
  });

  it('goes on while a majority tells', async () => {
    expect((await listed(FREE, FREE, undefined)).keys).toEqual([]);
    expect((await listed(HELD, HELD, undefined)).keys).toMatchObject([{ key: 'a', locked: true }]);
  });
});
