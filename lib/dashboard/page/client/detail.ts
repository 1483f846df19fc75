import type { LockRow } from '../../protocol.js';
import type { Dom } from './dom.js';
import type { PageElement } from './dom-types.js';
import type { Model } from './model.js';
import type { RowViews } from './row-view.js';
import type { Text } from './text.js';
import type { Timeline } from './timeline.js';

/** Everything about one key. */
export function createDetail(
  dom: Dom,
  text: Text,
  model: Model,
  timeline: Timeline,
  views: Pick<RowViews, 'remark'>,
  on: { release(row: LockRow): void; closed(key: string): void },
) {
  const MOST_HOLDS = 20;
  const { html, byId, say } = dom;

  const panel = byId('detail');
  const title = byId('detail-title');
  const release = byId('detail-release');
  let shown: string | undefined;

  function facts(row: LockRow | undefined): [string, string][] {
    if (!row) return [['state', 'free, as far as was seen']];
    const { since, token, waiters, nodes, kept } = row;
    const left = model.leftMs(row);
    const note = kept ? '' : views.remark(row, model.condition(row));
    return [
      ['state', `${kept ? 'given back, and kept for its minHold' : 'held'}${note === '' ? '' : `, ${note}`}`],
      ['held by', text.holder(row)],
      [
        'since',
        since === undefined
          ? 'unknown'
          : `${text.dateTime(since)} (${text.duration(Math.max(0, model.now() - since))})`,
      ],
      ['ttl left', left === undefined ? 'only its holder knows' : text.duration(left)],
      ['token', token === undefined ? 'unknown' : String(token)],
      ['waiting', waiters === undefined ? 'unknown' : text.count(waiters, 'process', 'processes')],
      ...(nodes ? [['nodes', `${nodes[0]} of ${nodes[2]}, ${nodes[1]} answer`] as [string, string]] : []),
    ];
  }

  function past(key: string): PageElement[] {
    const holds = model.holdsOf(key).slice(-MOST_HOLDS).reverse();
    return holds.map((hold) => {
      const bad = hold.end === 'expired' || hold.end === 'lost';
      const from = hold.from === undefined ? '' : `${text.time(hold.from)} to `;
      const length = hold.from === undefined ? '' : ` (${text.duration(hold.to - hold.from)})`;
      const when = html('span', { class: 'number' }, `${from}${text.time(hold.to)}${length}`);
      return html(
        'li',
        bad ? { class: 'bad' } : {},
        when,
        html('span', {}, text.holder(hold)),
        html('span', {}, text.end(hold)),
      );
    });
  }

  function draw(): void {
    if (shown === undefined) return;
    const row = model.rows.get(shown);
    say(title, shown);
    // Written anew only where it differs, so that a reading screen reader is not interrupted.
    const list = byId('detail-facts');
    const wanted = facts(row);
    const words = wanted.flat().join('');
    if (list.textContent !== words) {
      list.replaceChildren(
        ...wanted.map(([name, value]) => html('div', {}, html('dt', {}, name), html('dd', {}, value))),
      );
    }
    timeline.draw(byId('detail-timeline'), model.holdsOf(shown), row, model.now(), row ? model.condition(row) : '');
    const items = past(shown);
    const before = byId('detail-past');
    const lines = items.map((item) => item.textContent).join('');
    if (before.textContent !== lines) before.replaceChildren(...items);
    byId('detail-no-past').hidden = items.length > 0;
    release.hidden = !model.state.about?.release || !row;
  }

  function open(key: string): void {
    shown = key;
    panel.hidden = false;
    draw();
    panel.scrollIntoView({ block: 'nearest' });
    panel.focus({ preventScroll: true });
  }

  function close(): void {
    const key = shown;
    if (key === undefined) return;
    shown = undefined;
    panel.hidden = true;
    on.closed(key);
  }

  byId('detail-close').addEventListener('click', close);
  panel.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') close();
  });
  release.addEventListener('click', () => {
    const row = shown === undefined ? undefined : model.rows.get(shown);
    if (row) on.release(row);
  });

  return { open, draw };
}

export type Detail = ReturnType<typeof createDetail>;
