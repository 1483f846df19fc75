import { beforeEach, describe, expect, it } from '@jest/globals';
import { systemRuntime } from '../../../lib/runtime.js';
import type { Place } from '../../../lib/stores/lock-store.js';
import type { LockNode, NodeRequest } from '../../../lib/stores/redis/lock-node.js';
import { RedlockStore } from '../../../lib/stores/redis/redlock.store.js';
import { promisedNode } from './promised.js';
import { ModelNode } from './simulation/model-node.js';

const TTL_MS = 10_000;
const WALL_MS = 1_800_000_000_000;

let models: ModelNode[];
let wallMs: number;
let store: RedlockStore;
/** Asked before a node serves a request; what it waits for holds the request up. */
let before: (request: NodeRequest, node: number) => Promise<void> | void;

beforeEach(() => {
  wallMs = WALL_MS;
  before = () => undefined;
  models = Array.from({ length: 3 }, () => new ModelNode({ retentionMs: TTL_MS, quarantineMs: 0 }, () => 0));
  const nodes = models.map((model, index) =>
    promisedNode(`n${index}`, async (request) => {
      await before(request, index);
      return model.serve(request);
    }),
  );
  store = new RedlockStore(
    nodes,
    { nodeTimeoutMs: TTL_MS, quarantineMs: 0, log: () => undefined },
    {
      clock: { monotonic: () => 0, wall: () => wallMs },
      timers: { start: () => () => undefined },
      random: { fraction: () => 0, id: () => 'id' },
    },
  );
});

async function grant(owner: string): Promise<number> {
  const result = await store.acquire('a', owner, TTL_MS);
  if (!result.acquired) throw new Error('not granted');
  await answered();
  return result.fencingToken;
}

/** The store goes on as soon as a majority has answered: until all have. */
function answered(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const holders = (): (string | undefined)[] => models.map((model) => model.holder('a'));

describe('RedlockStore', () => {
  it('is checked by asking every node, and works while a majority answers', async () => {
    const failing = new Set<number>();
    before = ({ verb }, node) => {
      if (verb === 'mark' && failing.has(node)) throw new Error('refused');
    };
    const up = (node: string): object => ({ node, state: 'up', latencyMs: 0 });
    expect(await store.check()).toEqual({ status: 'up', nodes: [up('n0'), up('n1'), up('n2')] });
    failing.add(1);
    const down = { node: 'n1', state: 'down', reason: 'refused' };
    expect(await store.check()).toEqual({ status: 'degraded', nodes: [up('n0'), down, up('n2')] });
    failing.add(2);
    expect(await store.check()).toMatchObject({ status: 'down' });
  });

  it('gives a key back to a node that lost it, with its fence', async () => {
    const token = await grant('x');
    models[2]!.forgetAll();
    expect(await store.renew('a', 'x', TTL_MS)).toBe(true);
    await answered();
    expect(holders()).toEqual(['x', 'x', 'x']);
    expect(models[2]!.fence('a')).toBe(token);
  });

  it('revives nothing that a majority has lost', async () => {
    await grant('x');
    models[1]!.forgetAll();
    models[2]!.expireLock('a');
    expect(await store.renew('a', 'x', TTL_MS)).toBe(false);
    await answered();
    expect(holders()).toEqual(['x', undefined, undefined]);
  });

  it('leaves alone what a node has given to someone else', async () => {
    await grant('x');
    models[2]!.forgetAll();
    models[2]!.serve({ verb: 'acquire', key: 'a', owner: 'y', ms: TTL_MS, token: 0 });
    expect(await store.renew('a', 'x', TTL_MS)).toBe(true);
    await answered();
    expect(holders()).toEqual(['x', 'x', 'y']);
  });

  it('heals nothing for a renewal that a release has superseded', async () => {
    await grant('x');
    models[2]!.forgetAll();
    let goOn: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    before = ({ verb }, node) => (verb === 'renew' && node === 2 ? held : undefined);
    expect(await store.renew('a', 'x', TTL_MS)).toBe(true);
    expect(await store.release('a', 'x')).toBe(true);
    goOn();
    await answered();
    expect(holders()).toEqual([undefined, undefined, undefined]);
  });

  it.each([0, -60_000])(
    'repeats no token of its own after all nodes came up empty, its clock moved by %i ms',
    async (by) => {
      const first = await grant('x');
      for (const model of models) model.forgetAll();
      wallMs += by;
      const second = await grant('y');
      expect(first).toBe(WALL_MS * 1000);
      expect(second).toBeGreaterThan(first);
    },
  );

  it('takes the highest token of the nodes, and leaves it on a majority', async () => {
    const ahead = WALL_MS * 1000 + 5000;
    models[1]!.serve({ verb: 'acquire', key: 'a', owner: 'y', ms: TTL_MS, token: ahead });
    models[1]!.expireLock('a');
    expect(await grant('x')).toBe(ahead + 1);
    expect(models.filter((model) => model.fence('a') === ahead + 1).length).toBeGreaterThanOrEqual(2);
  });

  it('frees what it got when it did not get the key', async () => {
    for (const model of models.slice(0, 2))
      model.serve({ verb: 'acquire', key: 'a', owner: 'y', ms: TTL_MS, token: 0 });
    expect(await store.acquire('a', 'x', TTL_MS)).toEqual({ acquired: false, retryAfterMs: TTL_MS });
    await answered();
    expect(holders()).toEqual(['y', 'y', undefined]);
  });
});

describe('RedlockStore on a lone node that keeps a line', () => {
  it('gives up the place of the attempt before one that cannot stand there, since nothing is heard, and does so first', async () => {
    const sent: NodeRequest[] = [];
    const lone: LockNode = {
      name: 'n',
      send: (request, _timeoutMs, asker) => {
        sent.push(request);
        queueMicrotask(() => asker.answered(lone, { status: 'no', value: 5, holder: 'y' }));
      },
      turns: {
        listen: () => () => undefined,
        expect: () => false,
        take: () => undefined,
        forget: () => undefined,
      },
      close: async () => undefined,
    };
    const terms = { nodeTimeoutMs: TTL_MS, quarantineMs: 0, log: () => undefined };
    const deaf = new RedlockStore([lone], terms, systemRuntime);
    for (const after of [undefined, 'p/before'])
      expect(await deaf.acquire('a', 'p/x', TTL_MS, { stands: true, after })).toMatchObject({ acquired: false });
    expect(sent.map(({ verb, key, owner }) => [verb, key, owner])).toEqual([
      ['acquire', 'a', 'p/x'],
      ['leave', 'a', 'p/before'],
      ['acquire', 'a', 'p/x'],
    ]);
  });

  it('takes no turn of an attempt that got no answer: what it may have got is undone', async () => {
    const sent: NodeRequest[] = [];
    const turns = new Map<string, Place>();
    const lone: LockNode = {
      name: 'n',
      send: (request, _timeoutMs, asker) => {
        sent.push(request);
        if (request.verb === 'queue') queueMicrotask(() => asker.failed(lone, 'no answer'));
      },
      turns: {
        listen: () => () => undefined,
        expect: (owner, _sentAt, _ttlMs, place) => turns.set(owner, place).size > 0,
        take: (owner, sentAt) => (turns.delete(owner) ? { fencingToken: 5, sentAt, leaseMs: 1000 } : undefined),
        forget: (owner) => void turns.delete(owner),
      },
      close: async () => undefined,
    };
    const runtime = { ...systemRuntime, random: { fraction: () => 0, id: () => 'id' } };
    const lined = new RedlockStore([lone], { nodeTimeoutMs: TTL_MS, quarantineMs: 0, log: () => undefined }, runtime);
    await expect(lined.acquire('a', 'p/x', TTL_MS, { stands: true })).rejects.toThrow('no answer');
    expect(sent.map(({ verb, owner }) => [verb, owner])).toEqual([
      ['queue', 'p/x'],
      ['undo', 'p/x'],
    ]);
    expect(lined.take!('a', 'p/x')).toBeUndefined();
  });
});
