import type { StoreHealth } from '../../../stores/store-health.js';
import type { About, Figures, Hold, LockRow, Update } from '../../protocol.js';

/** What the page knows, and what follows from it. `localNow` is the browser's clock. */
export function createModel(localNow: () => number) {
  const MOST_HOLDS = 5000;
  /** A lease is renewed when a third of it is over: below the first share a renewal is missing, below the second more than one is. */
  const LATE = 0.55;
  const CRITICAL = 0.3;
  const MOST_LATENCIES = 60;

  const rows = new Map<string, LockRow>();
  const holds = new Map<string, Hold>();
  const latencies = new Map<string, (number | undefined)[]>();
  const state = {
    about: undefined as About | undefined,
    health: undefined as StoreHealth | undefined,
    figures: undefined as Figures | undefined,
    trouble: undefined as string | undefined,
    truncated: false,
    readAt: 0,
    readMs: 0,
  };
  /** How far the server's clock is ahead of the one here. */
  let ahead = 0;

  const holdId = ({ key, token, from }: Pick<Hold, 'key' | 'token' | 'from'>): string =>
    `${token ?? from ?? ''} ${key}`;

  function keep(hold: Hold): void {
    const id = holdId(hold);
    holds.delete(id);
    holds.set(id, hold);
    if (holds.size > MOST_HOLDS) holds.delete(holds.keys().next().value!);
  }

  function note(health: StoreHealth): void {
    state.health = health;
    for (const { node, latencyMs } of health.nodes) {
      const past = latencies.get(node) ?? [];
      latencies.set(node, [...past, latencyMs].slice(-MOST_LATENCIES));
    }
    for (const node of latencies.keys()) if (!health.nodes.some((one) => one.node === node)) latencies.delete(node);
  }

  function apply(update: Update): void {
    ahead = update.now - localNow();
    if (update.full) rows.clear();
    for (const key of update.gone) rows.delete(key);
    for (const hold of update.holds) keep(hold);
    for (const row of update.set) {
      rows.set(row.key, row);
      // Who was missing for a moment only is still at it.
      holds.delete(holdId({ ...row, ...(row.since === undefined ? {} : { from: row.since }) }));
    }
    const { about = state.about, figures = state.figures, health, trouble, truncated, readAt, readMs } = update;
    Object.assign(state, { about, figures, trouble, truncated, readAt, readMs });
    if (health) note(health);
  }

  const now = (): number => localNow() + ahead;

  const leftMs = ({ endsAt }: LockRow): number | undefined =>
    endsAt === undefined ? undefined : Math.max(0, endsAt - now());

  /** How well its lease is renewed. Judged by the moment at which it was read: what happened since is not known yet. */
  function condition({ endsAt, leaseMs, kept }: LockRow): 'well' | 'late' | 'critical' {
    if (endsAt === undefined || !leaseMs || kept) return 'well';
    const judgedAt = state.trouble === undefined ? state.readAt : now();
    const left = (endsAt - judgedAt) / leaseMs;
    return left < CRITICAL ? 'critical' : left < LATE ? 'late' : 'well';
  }

  /** What was seen of a key: those who held it, the latest last; without who holds it now. */
  function holdsOf(key: string): Hold[] {
    return [...holds.values()].filter((hold) => hold.key === key).sort((one, other) => one.to - other.to);
  }

  /** Locks that ended badly, the latest first: those that this page saw run out, and those that the process lost itself. */
  function losses(): Hold[] {
    const bad = [...holds.values()].filter(({ end }) => end === 'expired' || end === 'lost');
    const known = new Set(bad.map(holdId));
    for (const { at, key, token, heldMs, reason } of state.figures?.losses ?? []) {
      const { pod, pid } = state.about!;
      const hold: Hold = { key, token, pod, pid, from: at - heldMs, to: at, end: 'lost', reason };
      if (!known.has(holdId(hold))) bad.push(hold);
    }
    return bad.sort((one, other) => other.to - one.to);
  }

  return { rows, latencies, state, apply, now, leftMs, condition, holdsOf, losses };
}

export type Model = ReturnType<typeof createModel>;
