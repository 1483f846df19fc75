import { describe, expect, it } from '@jest/globals';
import { createDom } from '../../../../lib/dashboard/page/client/dom.js';
import { createText } from '../../../../lib/dashboard/page/client/text.js';
import { createTimeline } from '../../../../lib/dashboard/page/client/timeline.js';
import type { Hold } from '../../../../lib/dashboard/protocol.js';

const NOW = 1_800_000_000_000;
const { layout } = createTimeline(createDom({} as never), createText());
const hold = (pod: string, from: number, to: number, end: Hold['end'] = 'ended'): Hold => ({
  ...{ key: 'a', pod, token: from, end, from: NOW - from, to: NOW - to },
});

describe('The timeline of a key', () => {
  it('has a lane for each process, the latest holder last, with each time it held', () => {
    const row = { key: 'a', id: '1', pod: 'green', since: NOW - 5000 };
    const { lanes, spanMs } = layout([hold('green', 50_000, 40_000), hold('blue', 40_000, 5000, 'expired')], row, NOW);
    expect(spanMs).toBe(60_000);
    expect(lanes.map(({ name, bars }) => [name, bars.map(({ kind }) => kind)])).toEqual([
      ['blue', ['expired']],
      ['green', ['ended', 'held']],
    ]);
    expect(lanes[1]!.bars[1]).toMatchObject({ from: NOW - 5000, to: NOW });
  });

  it('reaches back far enough for what is shown, and no farther than a day', () => {
    const span = (from: number): number => layout([hold('blue', from, 0)], undefined, NOW).spanMs;
    expect([span(1000), span(59_000), span(200_000), span(10 * 86_400_000)]).toEqual([
      60_000, 300_000, 300_000, 86_400_000,
    ]);
  });

  it('shows what it can of a key that nobody holds, or of which nothing is known', () => {
    expect(layout([], undefined, NOW).lanes).toEqual([]);
    expect(layout([], { key: 'a', id: '1' }, NOW).lanes).toMatchObject([
      { name: 'unknown', bars: [{ from: NOW, to: NOW }] },
    ]);
  });

  it('shows the eight processes that were last at it', () => {
    const holds = Array.from({ length: 20 }, (_, index) =>
      hold(`pod-${index}`, 20_000 - index * 100, 19_950 - index * 100),
    );
    expect(layout(holds, undefined, NOW).lanes.map(({ name }) => name)).toEqual(
      Array.from({ length: 8 }, (_, index) => `pod-${index + 12}`),
    );
  });
});
