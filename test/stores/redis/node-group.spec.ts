import { describe, expect, it } from '@jest/globals';
import { NodeGroup } from '../../../lib/stores/redis/node-group.js';
import { promisedNode } from './promised.js';

function groupOf(...out: (boolean | undefined)[]): NodeGroup {
  const nodes = out.map((isOut, index) => {
    const node = promisedNode(`n${index}`, async () => ({ status: 'yes', value: 0 }));
    return isOut === undefined ? node : { ...node, out: isOut };
  });
  return new NodeGroup(nodes, 50, { wall: () => 0 });
}

describe('NodeGroup', () => {
  it.each<[string, (boolean | undefined)[], boolean]>([
    ['all are well', [false, false, false], true],
    ['they do not say', [undefined, undefined, undefined], true],
    ['a majority is well', [false, true, false], true],
    ['two of five are out', [true, false, true, false, false], true],
    ['no majority is well', [true, true, false], false],
    ['the only one is out', [true], false],
  ])('can spare those that are out if %s: %j, %s', (_, out, spares) => {
    expect(groupOf(...out).spares('acquire')).toBe(spares);
  });

  it('spares nobody a commit: it goes only to those it needs', () => {
    expect(groupOf(false, true, false).spares('commit')).toBe(false);
  });
});
