import type { Dom } from './dom.js';
import type { PageEvent, PageWindow } from './dom-types.js';
import type { Model } from './model.js';
import type { RowViews } from './row-view.js';

/** The table: of any number of locks, the lines that are in sight. */
export function createGrid(
  window: PageWindow,
  dom: Dom,
  model: Pick<Model, 'rows'>,
  views: RowViews,
  onOpen: (key: string) => void,
) {
  const ROW_PX = 40;
  const NARROW_ROW_PX = 68;
  const NARROW = '(max-width: 700px)';
  const OVERSCAN = 6;

  type View = ReturnType<RowViews['create']>;

  const grid = dom.byId('grid');
  const viewport = dom.byId('viewport');
  const canvas = dom.byId('canvas');
  const shown = new Map<string, View>();
  let keys: readonly string[] = [];
  /** The line that the keyboard is on. It stays with its key wherever that moves. */
  let active: string | undefined;
  let activeIndex = 0;

  const rowPx = (): number => (window.matchMedia(NARROW).matches ? NARROW_ROW_PX : ROW_PX);
  const hasFocus = (): boolean => canvas.contains(dom.document.activeElement);

  function make(key: string): View {
    const view = views.create();
    view.element.addEventListener('click', () => {
      activate(key, false);
      onOpen(key);
    });
    return view;
  }

  /** In the order of the table, for whoever reads it aloud, without moving what is in place already: that would take the focus from it. */
  function arrange(wanted: readonly string[]): void {
    const wantedKeys = new Set(wanted);
    for (const [key, view] of shown) {
      if (wantedKeys.has(key)) continue;
      view.element.remove();
      shown.delete(key);
    }
    let place = canvas.firstChild;
    for (const key of wanted) {
      let view = shown.get(key);
      if (!view) shown.set(key, (view = make(key)));
      if (view.element === place) place = place.nextSibling;
      else canvas.insertBefore(view.element, place);
    }
  }

  function draw(): void {
    const height = rowPx();
    const first = Math.max(0, Math.floor(viewport.scrollTop / height) - OVERSCAN);
    const last = Math.ceil((viewport.scrollTop + viewport.clientHeight) / height) + OVERSCAN;
    const focused = hasFocus();
    const wanted = keys.slice(first, last);
    // The line with the focus stays, also out of sight.
    if (focused && activeIndex < first && active !== undefined) wanted.unshift(active);
    if (focused && activeIndex >= last && active !== undefined) wanted.push(active);
    arrange(wanted);
    canvas.style.setProperty('height', `${keys.length * height}px`);
    for (const [position, key] of wanted.entries()) {
      const index =
        key === active ? activeIndex : first + position - (wanted[0] === active && activeIndex < first ? 1 : 0);
      const view = shown.get(key)!;
      view.update(model.rows.get(key)!, index, key === active);
      view.element.style.setProperty('transform', `translateY(${index * height}px)`);
    }
    if (focused && active !== undefined && !hasFocus()) shown.get(active)?.element.focus({ preventScroll: true });
  }

  /** The locks to show, in their order. */
  function show(next: readonly string[]): void {
    const hadFocus = hasFocus();
    keys = next;
    const index = active === undefined ? -1 : keys.indexOf(active);
    // Where the key is gone, the line that took its place is next at hand.
    activeIndex = index >= 0 ? index : Math.max(0, Math.min(activeIndex, keys.length - 1));
    active = keys[activeIndex];
    grid.setAttribute('aria-rowcount', String(keys.length + 1));
    draw();
    if (hadFocus && !hasFocus() && active !== undefined) shown.get(active)?.element.focus({ preventScroll: true });
  }

  function activate(key: string, moves: boolean): void {
    active = key;
    activeIndex = Math.max(0, keys.indexOf(key));
    if (moves) {
      const height = rowPx();
      const top = activeIndex * height;
      const bottom = top + height;
      if (top < viewport.scrollTop) viewport.scrollTop = top;
      if (bottom > viewport.scrollTop + viewport.clientHeight) viewport.scrollTop = bottom - viewport.clientHeight;
    }
    draw();
    if (moves) shown.get(key)?.element.focus({ preventScroll: true });
  }

  function target(key: string): number | undefined {
    const page = Math.max(1, Math.floor(viewport.clientHeight / rowPx()) - 1);
    switch (key) {
      case 'ArrowDown':
        return activeIndex + 1;
      case 'ArrowUp':
        return activeIndex - 1;
      case 'PageDown':
        return activeIndex + page;
      case 'PageUp':
        return activeIndex - page;
      case 'Home':
        return 0;
      case 'End':
        return keys.length - 1;
      default:
        return undefined;
    }
  }

  function onKey(event: PageEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey || active === undefined) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      return onOpen(active);
    }
    const index = target(event.key);
    if (index === undefined) return;
    event.preventDefault();
    activate(keys[Math.max(0, Math.min(index, keys.length - 1))]!, true);
  }

  canvas.addEventListener('keydown', onKey);
  viewport.addEventListener('scroll', () => window.requestAnimationFrame(draw), { passive: true });
  window.addEventListener('resize', draw);

  /** Puts the keyboard on that line, or on the one that is next. */
  function focus(key: string | undefined): void {
    const known = key !== undefined && keys.includes(key) ? key : active;
    if (known !== undefined) activate(known, true);
  }

  return { show, draw, focus };
}

export type Grid = ReturnType<typeof createGrid>;
