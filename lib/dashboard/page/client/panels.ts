import type { Charts } from './charts.js';
import type { Dom } from './dom.js';
import type { Model } from './model.js';
import type { Text } from './text.js';

/** What stands around the table: the state of the store, the tiles, nodes, figures and losses. */
export function createPanels(dom: Dom, text: Text, model: Model, charts: Charts, onKey: (key: string) => void) {
  const LOSSES_SHOWN = 20;
  const STATES = { up: 'up', degraded: 'degraded', down: 'down' } as const;
  const NODE_STATES = { up: 'up', quarantine: 'in quarantine', down: 'down' } as const;

  const { html, byId, say } = dom;
  const { state } = model;

  function pill(id: string, words: string, kind: string): void {
    const element = byId(id);
    say(element, words);
    element.className = `pill ${kind}`;
    element.hidden = words === '';
  }

  function head(): void {
    const { about, health, trouble, truncated } = state;
    if (about) {
      say(byId('manager'), about.manager === 'default' ? '' : about.manager);
      for (const id of ['self', 'self-too']) say(byId(id), text.holder(about));
    }
    pill('health', health ? `store ${STATES[health.status]}` : '', health?.status ?? '');
    const authority = health?.authority;
    const isFallback = authority !== undefined && authority !== 'REDIS';
    pill('authority', authority ? `authority: ${authority}` : '', isFallback ? 'degraded' : 'up');
    const banner = byId('trouble');
    banner.hidden = trouble === undefined;
    const seen =
      state.readAt === 0 ? 'They have not been read yet.' : `This is how they were at ${text.time(state.readAt)}.`;
    say(banner, trouble === undefined ? '' : `The locks cannot be read: ${trouble} ${seen}`);
    byId('truncated').hidden = !truncated;
  }

  function tiles(): void {
    let waiters: number | undefined;
    let late = 0;
    for (const row of model.rows.values()) {
      if (row.waiters !== undefined) waiters = (waiters ?? 0) + row.waiters;
      if (model.condition(row) !== 'well') late++;
    }
    say(byId('tile-held'), `${model.rows.size.toLocaleString('en')}${state.truncated ? '+' : ''}`);
    // Where no store counts them, none may be more than there are.
    say(byId('tile-waiting'), waiters === undefined && model.rows.size > 0 ? '–' : (waiters ?? 0).toLocaleString('en'));
    say(byId('tile-late'), late.toLocaleString('en'));
    byId('tile-late').className = late > 0 ? 'value late' : 'value';
    const lost = model.losses().length;
    say(byId('tile-lost'), lost.toLocaleString('en'));
    byId('tile-lost').className = lost > 0 ? 'value lost' : 'value';
  }

  function nodes(): void {
    const { health } = state;
    if (!health) return;
    byId('no-nodes').hidden = health.nodes.length > 0;
    byId('nodes').replaceChildren(
      ...health.nodes.map(({ node, state: is, latencyMs, reason, untilMs }) => {
        const until = untilMs === undefined ? '' : ` until ${text.time(untilMs)}`;
        const words = `${NODE_STATES[is]}${until}${reason === undefined ? '' : `: ${reason}`}`;
        return html(
          'li',
          { class: `node ${is}` },
          html('span', { class: 'name' }, node),
          html('span', { class: 'state' }, words),
          charts.spark(model.latencies.get(node) ?? []),
          html('span', { class: 'number' }, latencyMs === undefined ? '–' : text.latency(latencyMs)),
        );
      }),
    );
  }

  function figures(): void {
    const { figures: known } = state;
    if (!known) return;
    charts.waits(byId('waits'), known);
    charts.contention(byId('contention'), known, model.now());
    charts.labels(byId('labels'), known);
  }

  function losses(): void {
    const all = model.losses();
    byId('no-losses').hidden = all.length > 0;
    byId('losses').replaceChildren(
      ...all.slice(0, LOSSES_SHOWN).map((hold) => {
        const held = hold.from === undefined ? '' : ` after ${text.duration(hold.to - hold.from)}`;
        const key = html('button', { type: 'button', class: 'link' }, hold.key);
        key.addEventListener('click', () => onKey(hold.key));
        const words = `${text.time(hold.to)} ${text.holder(hold)}: ${text.end(hold)}${held}`;
        return html('li', { class: 'loss' }, key, html('span', {}, words));
      }),
    );
  }

  return { head, tiles, nodes, figures, losses };
}

export type Panels = ReturnType<typeof createPanels>;
