import { quantile } from '../measure.js';

/** What came of the attempts of one spell. */
export interface Spell {
  readonly attempts: number;
  readonly granted: number;
  /** Of those granted; null if none was. */
  readonly medianMs: number | null;
  /** Of all, those that have no answer yet included. */
  readonly longestMs: number;
  readonly perSecond: number;
}

const LANES = 16;
/** How long what is under way at the end of a spell may still take. */
const GRACE_MS = 1000;

let keys = 0;

/** Lanes that each take and give back one key after another, no key twice, for so long. */
export async function loadFor(ms: number, lock: (key: string) => Promise<void>): Promise<Spell> {
  const times: number[] = [];
  const open = new Set<number>();
  let attempts = 0;
  let longestMs = 0;
  let over = false;

  const attempt = async (): Promise<void> => {
    const startedAt = performance.now();
    attempts++;
    open.add(startedAt);
    try {
      await lock(`bench:outage:${keys++}`);
      times.push(performance.now() - startedAt);
    } catch {
      // Who fails at once would otherwise let nothing else run.
      await new Promise((resolve) => setImmediate(resolve));
    }
    longestMs = Math.max(longestMs, performance.now() - startedAt);
    open.delete(startedAt);
  };
  const lane = async (): Promise<void> => {
    while (!over) await attempt();
  };
  const start = performance.now();
  const lanes = Promise.all(Array.from({ length: LANES }, lane));
  await passed(ms);
  over = true;
  const perSecond = (times.length * 1000) / (performance.now() - start);
  const late = new AbortController();
  await Promise.race([lanes, passed(GRACE_MS, late.signal)]);
  late.abort();
  for (const startedAt of open) longestMs = Math.max(longestMs, performance.now() - startedAt);
  const medianMs = times.length > 0 ? quantile(times, 0.5) : null;
  return { attempts, granted: times.length, medianMs, longestMs, perSecond };
}

function passed(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });
}
