import { beforeEach, describe, expect, it } from '@jest/globals';
import { LockUnavailableError } from '../../../lib/errors.js';
import type { Lease } from '../../../lib/stores/lock-store.js';
import type { LockNode, NodeRenewals, RenewalAsker } from '../../../lib/stores/redis/lock-node.js';
import { NodeGroup } from '../../../lib/stores/redis/node-group.js';
import { RenewalRound } from '../../../lib/stores/redis/renewal-round.js';

const TTL_MS = 30_000;
const RENEWALS_PER_HOUR = 360;

/** A node that answers when the test says so. */
class SlowNode implements LockNode {
  readonly asked: NodeRenewals[] = [];
  #asker!: RenewalAsker;

  constructor(readonly name: string) {}

  renewAll(renewals: NodeRenewals, _timeoutMs: number, asker: RenewalAsker): void {
    this.asked.push(renewals);
    this.#asker = asker;
  }

  answer(refused: readonly number[]): void {
    this.#asker.renewed(this, refused);
  }

  fail(reason: string): void {
    this.#asker.failed(this, reason);
  }

  send(): never {
    throw new Error('one by one is not for a round');
  }

  async close(): Promise<void> {}
}

class Told implements Lease {
  readonly owner: string;
  readonly told: unknown[] = [];
  over = false;

  constructor(
    readonly key: string,
    readonly renewals = 0,
  ) {
    this.owner = `owner of ${key}`;
  }

  renewed(ours: boolean): void {
    this.told.push(ours);
  }

  unclear(error: unknown): void {
    this.told.push(error);
  }
}

let nodes: [SlowNode, SlowNode, SlowNode];
let locks: [Told, Told, Told];
/** The keys that were asked for by themselves, and what was answered. */
let alone: string[];
let answerAlone: () => Promise<boolean>;

beforeEach(() => {
  nodes = [new SlowNode('a'), new SlowNode('b'), new SlowNode('c')];
  locks = [new Told('x'), new Told('y'), new Told('z')];
  alone = [];
  answerAlone = async () => true;
});

function send(leases: readonly Lease[] = locks): void {
  const renewAlone = ({ key }: Lease): Promise<boolean> => {
    alone.push(key);
    return answerAlone();
  };
  const group = new NodeGroup(nodes, 50, { wall: () => 0 });
  new RenewalRound(leases, group, renewAlone).send(TTL_MS);
}

/** Lets the promises of answers do what follows from them. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const told = (): unknown[][] => locks.map((lock) => lock.told);

describe('RenewalRound', () => {
  it('renews all with one question to each node, as soon as a majority has answered', async () => {
    send();
    nodes[0].answer([]);
    await settled();
    expect(told()).toEqual([[], [], []]);
    nodes[2].answer([]);
    await settled();
    expect(told()).toEqual([[true], [true], [true]]);
    expect(nodes.map(({ asked }) => asked.length)).toEqual([1, 1, 1]);
    expect(alone).toEqual([]);
  });

  it.each([[true], [false]])('asks for what a node refused by itself, and tells that answer: %s', async (ours) => {
    answerAlone = async () => ours;
    send();
    nodes[0].answer([1]);
    nodes[1].answer([]);
    await settled();
    expect(alone).toEqual(['y']);
    expect(told()).toEqual([[true], [ours], [true]]);
  });

  it('tells that it cannot say, when nobody can of what was refused', async () => {
    const error = new Error('out of reach');
    answerAlone = async () => Promise.reject(error);
    send();
    nodes[0].answer([1]);
    nodes[1].answer([1]);
    await settled();
    expect(alone).toEqual(['y']);
    expect(told()).toEqual([[true], [error], [true]]);
  });

  it('has what a node lost given back to it, also when it answers last', async () => {
    answerAlone = async () => Promise.reject(new Error('the next renewal tries again'));
    send();
    nodes[0].answer([]);
    nodes[1].answer([]);
    await settled();
    nodes[2].answer([0, 2]);
    await settled();
    expect(alone).toEqual(['x', 'z']);
    expect(told()).toEqual([[true], [true], [true]]);
  });

  it('asks for nothing that two nodes refused twice', async () => {
    send();
    for (const node of nodes) node.answer([1]);
    await settled();
    expect(alone).toEqual(['y']);
  });

  it('sends nothing for a lock that is over by then', async () => {
    send();
    locks[0].over = true;
    locks[1].over = true;
    nodes[0].answer([0]);
    nodes[1].answer([]);
    await settled();
    nodes[2].answer([1]);
    await settled();
    expect(alone).toEqual([]);
    expect(told()).toEqual([[false], [true], [true]]);
  });

  it('cannot say when no majority can answer any more, and tells why, once', async () => {
    send();
    nodes[0].fail('not connected');
    await settled();
    expect(told()).toEqual([[], [], []]);
    nodes[1].fail('no answer within 50 ms');
    await settled();
    nodes[2].answer([]);
    await settled();
    for (const { key, told } of locks) {
      expect(told).toEqual([expect.any(LockUnavailableError)]);
      expect(told[0]).toMatchObject({
        key,
        causes: [
          { node: 'a', reason: 'not connected' },
          { node: 'b', reason: 'no answer within 50 ms' },
        ],
      });
    }
  });

  it('does without a node that is down', async () => {
    send();
    nodes[1].fail('not connected');
    nodes[0].answer([]);
    nodes[2].answer([]);
    await settled();
    expect(told()).toEqual([[true], [true], [true]]);
  });

  it('names the locks, with all owners as one, and a fence only about once an hour', () => {
    send([new Told('x', 0), new Told('y', RENEWALS_PER_HOUR - 1), new Told('z', RENEWALS_PER_HOUR)]);
    expect(nodes[1].asked).toEqual([
      {
        names: ['lock:{x}', 'lock:{y}', 'lock:{z}', 'lock:{y}:fence'],
        owners: 'owner of x\nowner of y\nowner of z\n',
        ms: TTL_MS,
      },
    ]);
  });
});
