import type { Figures } from '../../protocol.js';
import type { Dom } from './dom.js';
import type { PageElement } from './dom-types.js';
import type { Text } from './text.js';

/** What the calls of the answering process met, in bars, and in words for those who do not see them. */
export function createCharts(dom: Dom, text: Text, waitLimitsMs: readonly number[]) {
  const WIDTH = 600;
  const HEIGHT = 120;
  const FOOT = 20;
  const HEAD = 14;
  const GAP = 4;

  const { svg, html } = dom;

  function frame(label: string, ...content: PageElement[]): PageElement {
    const viewBox = `0 0 ${WIDTH} ${HEIGHT + FOOT + HEAD}`;
    return svg('svg', { viewBox, role: 'img', 'aria-label': label, class: 'chart' }, ...content);
  }

  /** How long grants took. */
  function waits(figure: PageElement, { waits: counts }: Figures): void {
    const all = counts.reduce((sum, count) => sum + count, 0);
    const most = Math.max(1, ...counts);
    const width = WIDTH / counts.length;
    const names = counts.map((_, index) =>
      index < waitLimitsMs.length ? `≤ ${text.duration(waitLimitsMs[index]!)}` : `longer`,
    );
    const bars = counts.map((count, index) => {
      const height = count === 0 ? 0 : Math.max(2, (count / most) * HEIGHT);
      const middle = index * width + width / 2;
      const shape = { x: index * width + GAP / 2, y: HEAD + HEIGHT - height, width: width - GAP, height, rx: 2 };
      return svg(
        'g',
        {},
        svg('rect', { class: 'granted', ...shape }, svg('title', {}, `${names[index]}: ${count}`)),
        count > 0
          ? svg(
              'text',
              { class: 'value', x: middle, y: HEAD + HEIGHT - height - 4, 'text-anchor': 'middle' },
              short(count),
            )
          : undefined,
        svg('text', { x: middle, y: HEAD + HEIGHT + 15, 'text-anchor': 'middle' }, names[index]),
      );
    });
    const parts = counts.flatMap((count, index) => (count > 0 ? [`${names[index]}: ${count}`] : []));
    figure.replaceChildren(frame(`${text.count(all, 'grant', 'grants')}. ${parts.join(', ')}`, ...bars));
  }

  /** Calls that met someone else's lock, or no store, over the last minutes. */
  function contention(figure: PageElement, { slots }: Figures, now: number): void {
    const height = ({ waiting, busy, unavailable }: Figures['slots'][number]): number => waiting + busy + unavailable;
    const most = Math.max(1, ...slots.map(height));
    const width = WIDTH / slots.length;
    const bars = slots.map((slot, index) => {
      let top = HEAD + HEIGHT;
      const parts = (['waiting', 'busy', 'unavailable'] as const).map((name) => {
        const share = (slot[name] / most) * HEIGHT;
        top -= share;
        return svg('rect', { class: name, x: index * width + 0.5, y: top, width: width - 1, height: share });
      });
      const { granted, waiting, busy, unavailable } = slot;
      const title = `${text.time(slot.from)}: ${granted} granted, ${waiting} had to wait, ${busy} busy, ${unavailable} unavailable`;
      const ground = { class: 'ground', x: index * width, y: HEAD, width, height: HEIGHT };
      return svg('g', {}, svg('rect', ground), ...parts, svg('title', {}, title));
    });
    const first = slots[0]?.from ?? now;
    const sum = (name: 'granted' | 'waiting' | 'busy' | 'unavailable'): number =>
      slots.reduce((total, slot) => total + slot[name], 0);
    const label = `In ${text.duration(now - first)}: ${sum('granted')} granted, ${sum('waiting')} had to wait, ${sum('busy')} busy, ${sum('unavailable')} unavailable`;
    const axis = [
      svg('text', { x: 0, y: HEAD + HEIGHT + 15 }, `−${text.duration(now - first)}`),
      svg('text', { x: WIDTH, y: HEAD + HEIGHT + 15, 'text-anchor': 'end' }, 'now'),
      svg('text', { class: 'value', x: 0, y: 10 }, `up to ${short(most)} in ten seconds`),
    ];
    figure.replaceChildren(frame(label, ...bars, ...axis));
  }

  /** What is fought for. */
  function labels(table: PageElement, { labels: rows }: Figures): void {
    const cells = (tag: string, values: readonly (string | number)[]): PageElement[] =>
      values.map((value, index) => html(index === 0 ? 'th' : tag, index === 0 ? { scope: 'row' } : {}, String(value)));
    table.replaceChildren(
      ...rows.map(({ label, granted, waiting, busy, unavailable }) =>
        html('tr', {}, ...cells('td', [label, granted, waiting, busy, unavailable])),
      ),
    );
  }

  /** The last latencies of a node; a gap where it did not answer. */
  function spark(latencies: readonly (number | undefined)[]): PageElement {
    const most = Math.max(1, ...latencies.map((latency) => latency ?? 0));
    const points = latencies.map((latency, index) => ({
      x: index * 2,
      y: latency === undefined ? undefined : 18 - (latency / most) * 16,
    }));
    const path = points
      .map(({ x, y }, index) =>
        y === undefined ? '' : `${points[index - 1]?.y === undefined ? 'M' : 'L'}${x} ${y.toFixed(1)}`,
      )
      .join('');
    return svg('svg', { viewBox: '0 0 120 20', class: 'spark', 'aria-hidden': 'true' }, svg('path', { d: path }));
  }

  function short(count: number): string {
    if (count < 10_000) return String(count);
    return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
  }

  return { waits, contention, labels, spark };
}

export type Charts = ReturnType<typeof createCharts>;
