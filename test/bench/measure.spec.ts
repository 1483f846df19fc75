import { describe, expect, it } from '@jest/globals';
import { measure, type Comparison, type Contender } from '../../bench/measure.js';
import type { Table } from '../../bench/table.js';
import type { Turn } from '../../bench/turn.js';

/** Takes so long for an operation in one round after the other, for ever. */
function contender(name: string, ...ms: number[]): Contender & { readonly turns: number[] } {
  const turns: number[] = [];
  return {
    name,
    role: 'peer',
    turns,
    async turn(): Promise<Turn> {
      const time = ms[turns.length % ms.length]!;
      turns.push(time);
      return { times: [time, time], perOperation: time * 10, cpuUs: null };
    },
  };
}

function compare(contenders: Comparison['contenders'], rest: Partial<Comparison> = {}, warmUp = 0): Promise<Table> {
  const comparison: Comparison = {
    ...{ title: 'x', operation: 'nothing', rounds: 4, ratioOf: 'operation', columns: ['ratio'] },
    contenders,
    ...rest,
  };
  return measure(comparison, { rounds: 1, operations: 1, warmUp });
}

const figure = ({ rows }: Table, name: string, key: string): unknown =>
  rows.find((row) => row.name === name)!.figures[key];

describe('a comparison', () => {
  it('compares turns of the same round, so that a slow moment of the machine cancels out', async () => {
    const table = await compare([contender('bare', 1, 100, 1, 100), contender('other', 2, 200, 2, 200)]);
    expect(figure(table, 'bare', 'ratio')).toBe(1);
    expect(figure(table, 'other', 'ratio')).toBe(2);
    expect(figure(table, 'other', 'ratioQuartiles')).toEqual([2, 2]);
    expect(figure(table, 'other', 'speed')).toBe(0.5);
  });

  it('takes whole turns where operations overlap', async () => {
    const turn =
      (perOperation: number): Contender['turn'] =>
      async () => ({ times: [1], perOperation, cpuUs: 7 });
    const table = await compare(
      [
        { name: 'bare', role: 'limit', turn: turn(8) },
        { name: 'other', role: 'ours', turn: turn(2) },
      ],
      { ratioOf: 'turn', columns: ['speed'] },
    );
    expect(figure(table, 'other', 'speed')).toBe(4);
    expect(figure(table, 'other', 'perSecond')).toBe(500);
    expect(figure(table, 'other', 'cpuUs')).toBe(7);
    expect(table.chart).toEqual({ column: 'speed', better: 'higher' });
  });

  it('counts what is added from the row that it is told, in µs', async () => {
    const rows = [contender('bare', 1), contender('plain', 2), contender('more', 2.5)] as const;
    const table = await compare(rows, { addedTo: 'plain' });
    expect(figure(table, 'more', 'addedUs')).toBe(500);
    expect(figure(table, 'plain', 'addedUs')).toBe(0);
  });

  it('leaves the rounds of the warm-up out', async () => {
    const bare = contender('bare', 50, 50, 1, 1, 1, 1);
    const table = await compare([bare, contender('other', 50, 50, 3, 3, 3, 3)], {}, 2);
    expect(bare.turns).toHaveLength(6);
    expect(figure(table, 'other', 'ratio')).toBe(3);
    expect(figure(table, 'other', 'p95Us')).toBe(3000);
  });

  it('warms up for fewer rounds where it asks for so few, and never for more than the bench does', async () => {
    const [quick, bench] = [contender('quick', 1), contender('bench', 1)];
    await compare([quick], { warmUp: 1 }, 2);
    await compare([bench], { warmUp: 9 }, 2);
    expect([quick.turns.length, bench.turns.length]).toEqual([4 + 1, 4 + 2]);
  });

  it('lets a different contender begin each round', async () => {
    const order: string[] = [];
    const noted = (name: string): Contender => ({
      name,
      role: 'peer',
      turn: async () => (order.push(name), { times: [1], perOperation: 1, cpuUs: null }),
    });
    await compare([noted('a'), noted('b'), noted('c')], { rounds: 3 });
    expect(order.join('')).toBe('abcbcacab');
  });
});
