import type { Update } from '../../protocol.js';
import type { createCharts } from './charts.js';
import type { createDetail } from './detail.js';
import type { createDom } from './dom.js';
import type { PageWindow } from './dom-types.js';
import type { createFeed } from './feed.js';
import type { createGrid } from './grid.js';
import type { createListing, Listing } from './listing.js';
import type { createModel } from './model.js';
import type { createPanels } from './panels.js';
import type { createRelease } from './release.js';
import type { createRowViews } from './row-view.js';
import type { createText } from './text.js';
import type { createTimeline } from './timeline.js';

/** The parts of the page. Each is a function on its own that is handed what it needs, since their texts are what the browser gets. */
export interface Parts {
  readonly createCharts: typeof createCharts;
  readonly createDetail: typeof createDetail;
  readonly createDom: typeof createDom;
  readonly createFeed: typeof createFeed;
  readonly createGrid: typeof createGrid;
  readonly createListing: typeof createListing;
  readonly createModel: typeof createModel;
  readonly createPanels: typeof createPanels;
  readonly createRelease: typeof createRelease;
  readonly createRowViews: typeof createRowViews;
  readonly createText: typeof createText;
  readonly createTimeline: typeof createTimeline;
}

export interface Constants {
  readonly waitLimitsMs: readonly number[];
  readonly releaseHeader: { readonly name: string; readonly value: string };
}

/** Puts the parts together, and runs the page. */
export function main(window: PageWindow, parts: Parts, { waitLimitsMs, releaseHeader }: Constants): void {
  const TICK_MS = 1000;
  const NOTICE_MS = 8000;
  const STATUS = { live: 'live', lost: 'not connected', paused: 'paused' } as const;

  // Wherever the page is mounted, with or without a slash at the end.
  const base = window.location.pathname.replace(/\/+$/, '');
  const text = parts.createText();
  const dom = parts.createDom(window.document);
  const { byId, say } = dom;
  const model = parts.createModel(() => Date.now());
  const listing = parts.createListing(model);
  const charts = parts.createCharts(dom, text, waitLimitsMs);
  const views = parts.createRowViews(dom, text, model);
  const timeline = parts.createTimeline(dom, text);
  const search = byId('search');
  let noticed = 0;
  const announce = (message: string): void => {
    say(byId('live'), message);
    say(byId('notice'), message);
    window.clearTimeout(noticed);
    noticed = window.setTimeout(() => say(byId('notice'), ''), NOTICE_MS);
  };

  const open = (key: string): void => detail.open(key);
  const grid = parts.createGrid(window, dom, model, views, open);
  const panels = parts.createPanels(dom, text, model, charts, open);
  const release = parts.createRelease(window, dom, text, base, releaseHeader, announce);
  const detail = parts.createDetail(dom, text, model, timeline, views, {
    release: (row) => release.ask(row),
    closed: (key) => grid.focus(key),
  });

  function list(): void {
    const keys = listing.keys();
    const all = model.rows.size;
    say(
      byId('count'),
      keys.length === all ? text.count(all, 'lock', 'locks') : `${keys.length} of ${text.count(all, 'lock', 'locks')}`,
    );
    byId('empty').hidden = keys.length > 0;
    say(byId('empty'), all === 0 ? 'Nobody holds a lock.' : 'No lock fits.');
    grid.show(keys);
  }

  function tick(): void {
    grid.draw();
    panels.head();
    panels.tiles();
    detail.draw();
  }

  let lossesTold: number | undefined;
  function tellLosses(): void {
    const [latest] = model.losses();
    const at = latest?.to ?? 0;
    if (latest && lossesTold !== undefined && at > lossesTold) {
      announce(`Lost: ${latest.key}, held by ${text.holder(latest)}, ${text.end(latest)}.`);
    }
    lossesTold = at;
  }

  function onUpdate(update: Update): void {
    model.apply(update);
    list();
    tick();
    panels.losses();
    if (update.health) panels.nodes();
    if (update.figures) panels.figures();
    tellLosses();
  }

  let status = '';
  function onStatus(next: keyof typeof STATUS): void {
    if (next === status) return;
    if (status !== '' || next !== 'live')
      announce(next === 'live' ? 'Connected again.' : `The page is ${STATUS[next]}.`);
    status = next;
    const pill = byId('connection');
    say(pill, STATUS[next]);
    pill.className = `pill ${next === 'live' ? 'up' : 'degraded'}`;
  }

  function sortBy(column: Listing['choice']['column']): void {
    const { choice } = listing;
    choice.descending = choice.column === column && !choice.descending;
    choice.column = column;
    for (const name of ['key', 'holder', 'held', 'left', 'token', 'waiters'] as const) {
      const order = name !== column ? 'none' : choice.descending ? 'descending' : 'ascending';
      byId(`column-${name}`).setAttribute('aria-sort', order);
    }
    list();
  }

  for (const column of ['key', 'holder', 'held', 'left', 'token', 'waiters'] as const) {
    byId(`sort-${column}`).addEventListener('click', () => sortBy(column));
  }
  search.addEventListener('input', () => {
    listing.choice.query = search.value;
    list();
    say(byId('live'), byId('count').textContent ?? '');
  });
  search.addEventListener('keydown', (event) => {
    if (event.key !== 'ArrowDown' && event.key !== 'Enter') return;
    event.preventDefault();
    grid.focus(undefined);
  });
  const filter = byId('filter');
  filter.addEventListener('change', () => {
    listing.choice.filter = filter.value as Listing['choice']['filter'];
    list();
  });
  window.document.addEventListener('keydown', (event) => {
    const focused = window.document.activeElement;
    if (
      event.key !== '/' ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      focused === search ||
      byId('confirm').open
    )
      return;
    event.preventDefault();
    search.focus();
    search.select();
  });

  window.setInterval(tick, TICK_MS);
  parts.createFeed(window, base, onUpdate, onStatus).start();
}
