import type { LockRow } from '../../protocol.js';
import type { Dom } from './dom.js';
import type { PageElement } from './dom-types.js';
import type { Model } from './model.js';
import type { Text } from './text.js';

/** One line of the table. */
export function createRowViews(dom: Dom, text: Text, model: Pick<Model, 'condition' | 'leftMs' | 'now'>) {
  const { html, say } = dom;

  /** What sets a lock apart, in words: colour alone would not do. */
  function remark(row: LockRow, condition: ReturnType<Model['condition']>): string {
    if (row.kept) return 'kept';
    if (condition === 'critical') return 'running out';
    if (condition === 'late') return row.renewed ? 'renewal late' : 'not renewed';
    if (row.nodes && row.nodes[0] < row.nodes[2]) return `${row.nodes[0]} of ${row.nodes[2]} nodes`;
    return '';
  }

  function create(): { element: PageElement; update(row: LockRow, index: number, isActive: boolean): void } {
    const key = html('span', { class: 'text' });
    const badge = html('span', { class: 'badge' });
    const fill = html('span', { class: 'fill' });
    const left = html('span', { class: 'number' });
    // What sets the pods of a deployment apart is at the end of their names, so that is what stays where there is no room.
    const holder = html('bdi');
    const cell = (name: string, ...content: PageElement[]): PageElement =>
      html('div', { role: 'gridcell', class: name }, ...content);
    const cells = {
      holder: cell('holder', holder),
      held: cell('held'),
      token: cell('token'),
      waiters: cell('waiters'),
    };
    const bar = html('span', { class: 'bar', 'aria-hidden': 'true' }, fill);
    const element = html(
      'div',
      { role: 'row', class: 'row' },
      cell('key', key, badge),
      cells.holder,
      cells.held,
      cell('left', bar, left),
      cells.token,
      cells.waiters,
    );

    function update(row: LockRow, index: number, isActive: boolean): void {
      const condition = model.condition(row);
      const note = remark(row, condition);
      const leftMs = model.leftMs(row);
      element.className = `row ${row.kept ? 'kept' : condition}${isActive ? ' active' : ''}`;
      element.tabIndex = isActive ? 0 : -1;
      element.setAttribute('aria-rowindex', String(index + 2));
      element.setAttribute('aria-selected', String(isActive));
      say(key, row.key);
      key.setAttribute('title', row.key);
      say(badge, note);
      badge.hidden = note === '';
      say(holder, text.holder(row));
      cells.holder.setAttribute('title', text.holder(row));
      say(cells.held, row.since === undefined ? '–' : text.duration(Math.max(0, model.now() - row.since)));
      say(left, leftMs === undefined ? '–' : text.duration(leftMs));
      bar.hidden = leftMs === undefined;
      const share = Math.min(1, (leftMs ?? 0) / (row.leaseMs || 1));
      fill.style.setProperty('transform', `scaleX(${share.toFixed(3)})`);
      say(cells.token, row.token === undefined ? '–' : String(row.token));
      say(cells.waiters, row.waiters === undefined ? '–' : String(row.waiters));
      cells.waiters.className = row.waiters ? 'waiters some' : 'waiters';
    }

    return { element, update };
  }

  return { create, remark };
}

export type RowViews = ReturnType<typeof createRowViews>;
