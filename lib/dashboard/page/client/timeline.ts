import type { Hold, LockRow } from '../../protocol.js';
import type { Dom } from './dom.js';
import type { PageElement } from './dom-types.js';
import type { Text } from './text.js';

export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly kind: 'held' | Hold['end'];
  readonly title: string;
}

export interface Lane {
  readonly name: string;
  readonly bars: Bar[];
}

/** Who held a key when: a lane for each process, time from left to right. */
export function createTimeline(dom: Dom, text: Text) {
  const SPANS_MS = [60_000, 300_000, 900_000, 3_600_000, 6 * 3_600_000, 24 * 3_600_000] as const;
  const MOST_LANES = 8;
  const WIDTH = 400;
  const LANE = 34;
  const BAR = 14;
  const AXIS = 22;
  const TICKS = 4;
  const LEAST_WIDTH = 2;
  /** How much of the time before is shown, as a share of how long ago the first of it was. */
  const MARGIN = 1.05;

  /** What is drawn: the stretch of time, and the lanes with the latest last. */
  function layout(holds: readonly Hold[], row: LockRow | undefined, now: number) {
    const starts = [...holds.slice(-50).map(({ from, to }) => from ?? to), ...(row ? [row.since ?? now] : [])];
    const needed = (now - Math.min(now, ...starts)) * MARGIN;
    const spanMs = SPANS_MS.find((ms) => ms >= needed) ?? SPANS_MS.at(-1)!;
    const from = now - spanMs;
    const lanes = new Map<string, Lane>();
    const add = (name: string, bar: Bar): void => {
      if (bar.to < from) return;
      const lane = lanes.get(name) ?? { name, bars: [] };
      // The one that was last at it is last.
      lanes.delete(name);
      lanes.set(name, lane);
      lane.bars.push(bar);
    };
    for (const hold of holds) {
      const start = hold.from ?? hold.to;
      const title = `${text.time(start)} to ${text.time(hold.to)}, ${text.end(hold)}`;
      add(text.holder(hold), { from: start, to: hold.to, kind: hold.end, title });
    }
    if (row) {
      const since = row.since ?? now;
      add(text.holder(row), { from: since, to: now, kind: 'held', title: `since ${text.time(since)}, held now` });
    }
    return { from, now, spanMs, lanes: [...lanes.values()].slice(-MOST_LANES) };
  }

  function draw(
    figure: PageElement,
    holds: readonly Hold[],
    row: LockRow | undefined,
    now: number,
    state: string,
  ): void {
    const { from, spanMs, lanes } = layout(holds, row, now);
    const height = lanes.length * LANE + AXIS;
    const x = (at: number): number => ((Math.max(at, from) - from) / spanMs) * WIDTH;
    const ticks = Array.from({ length: TICKS + 1 }, (_, index) => {
      const at = x(from + (index * spanMs) / TICKS);
      const anchor = index === 0 ? 'start' : index === TICKS ? 'end' : 'middle';
      const label = index === TICKS ? 'now' : `−${text.duration(spanMs - (index * spanMs) / TICKS)}`;
      return dom.svg(
        'g',
        { class: 'tick' },
        dom.svg('line', { x1: at, x2: at, y1: 0, y2: height - AXIS }),
        dom.svg('text', { x: at, y: height - 6, 'text-anchor': anchor }, label),
      );
    });
    const bars = lanes.map(({ name, bars: drawn }, lane) => {
      const top = lane * LANE;
      const rects = drawn.map(({ from: start, to, kind, title }) => {
        const width = Math.max(LEAST_WIDTH, x(to) - x(start));
        const at = Math.min(x(start), WIDTH - width);
        const shape = { x: at.toFixed(1), y: top + LANE - BAR - 2, width: width.toFixed(1), height: BAR, rx: 2 };
        const look = kind === 'held' ? `held ${state}` : kind;
        return dom.svg('rect', { class: `hold ${look}`, ...shape }, dom.svg('title', {}, title));
      });
      return dom.svg('g', {}, dom.svg('text', { class: 'lane', x: 0, y: top + 13 }, name), ...rects);
    });
    const label = `${lanes.length} ${lanes.length === 1 ? 'process' : 'processes'} in the last ${text.duration(spanMs)}`;
    const attributes = { viewBox: `0 0 ${WIDTH} ${height}`, role: 'img', 'aria-label': label, class: 'timeline' };
    figure.replaceChildren(dom.svg('svg', attributes, ...ticks, ...bars));
  }

  return { layout, draw };
}

export type Timeline = ReturnType<typeof createTimeline>;
