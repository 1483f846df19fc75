import { TTL_MS, type Adapter } from './adapters.js';
import type { Findings } from './findings.js';

/** What ours must show, beyond what it must show in every fault. */
export type LimitName =
  | 'wake' // a holder that slept: refused before its next write, told ≤ 50 ms after waking, overlap ≤ 20 ms
  | 'wake in reply' // the same, but the check was made before the pause
  | 'deadline' // told by the end of the lease, and before anyone else got in; overlap 0
  | 'healing' // next entry ≤ 100 ms after healing
  | 'quarantine' // next entry ≤ the quarantine and 0.5 s after healing
  | 'renewal' // told within one renewal interval, overlap 0
  | 'minority' // entries ≥ 80 % of the quiet window, releases ≤ 50 ms
  | 'kill' // next entry ≤ ttl + 0.1 s; on Postgres ≤ 0.1 s
  | 'at once' // told ≤ 50 ms after the fault, overlap ≤ 20 ms
  | 'told by renewal' // only that, where two holders are possible
  | 'told in time' // by the end of the lease, where two holders are possible
  | 'no losses'
  | 'overlap'; // 0

const WAKE_TOLD_MS = 50;
const WAKE_OVERLAP_MS = 20;
const HEALING_MS = 100;
const AFTER_QUARANTINE_MS = 500;
const MINORITY_SERVED = 0.8;
const RELEASE_MS = 50;
const KILL_MS = 100;
/** Of the lease: 1 % and 2 ms. */
const DRIFT_MS = TTL_MS * 0.01 + 2;
const RENEWAL_MS = TTL_MS / 3;
/**
 * How late a timer may be on two cores that run four workers, the servers and the proxies. It is added where the limit is a time by which a timer must have fired
 * or an answer must have come; not to overlaps, nor to what was refused.
 */
export const SCHEDULING_MS = 30;

type Broken = string | false;

/** Each broken promise, in words. */
export function violations(findings: Findings, limits: readonly LimitName[], adapter: Adapter): string[] {
  return [...always(findings), ...limits.flatMap((name) => LIMITS[name](findings, adapter))].filter(
    (broken): broken is string => broken !== false,
  );
}

function always(f: Findings): Broken[] {
  const none = (count: number | null | undefined, what: string): Broken => !!count && `${count} ${what}`;
  return [
    f.entries < 20 && `only ${f.entries} entries: promises about nothing are easily kept`,
    none(f.lostUpdates?.claim, 'updates lost under a claim'),
    none(f.staleWrites?.claim, 'stale writes accepted under a claim'),
    none(f.tokensBackwards, 'tokens went backwards'),
    none(f.tokensRepeated, 'tokens were repeated'),
    none(f.rejections, 'unhandled rejections'),
    none(f.crashes, 'crashes'),
    none(f.keysLeft, 'keys left after release'),
    none(f.stuckKeys, 'keys that outlive their ttl'),
    none(f.keysWithoutTtl, 'keys without a ttl'),
    none(f.timersLeft, 'timers left after release'),
    f.recoveryMs === null && 'not all workers were served again',
  ];
}

function overlapAtMost(f: Findings, limitMs: number): Broken[] {
  return [
    f.overlapMs > limitMs && `two awake holders for ${ms(f.overlapMs)} (at most ${limitMs} ms)`,
    f.wrongChecks > 0 && `${f.wrongChecks} checks said "held" though another had been let in`,
  ];
}

function toldWithin(f: Findings, limitMs: number, what: string): Broken {
  if (f.toldMs === null) return `the holder was not told ${what}`;
  return f.toldMs > limitMs + SCHEDULING_MS && `told ${ms(f.toldMs)} ${what} (at most ${limitMs} ms)`;
}

function entryWithin(at: number | null, limitMs: number, what: string): Broken {
  if (at === null) return `nobody got in ${what}`;
  return at > limitMs + SCHEDULING_MS && `next entry ${ms(at)} ${what} (at most ${limitMs} ms)`;
}

const LIMITS: Record<LimitName, (f: Findings, adapter: Adapter) => Broken[]> = {
  wake: (f) => [
    f.checkSaid !== 'lost' && `the check before the next write said ${f.checkSaid}`,
    toldWithin(f, WAKE_TOLD_MS, 'after waking'),
    ...overlapAtMost(f, WAKE_OVERLAP_MS),
  ],
  'wake in reply': (f) => [toldWithin(f, WAKE_TOLD_MS, 'after waking'), ...overlapAtMost(f, WAKE_OVERLAP_MS)],
  deadline: (f) => [
    toldWithin(f, TTL_MS - DRIFT_MS, 'after the fault'),
    f.toldBeforeNextEntry === false && 'another got in before the holder was told',
    ...overlapAtMost(f, 0),
  ],
  healing: (f) => [entryWithin(f.entryAfterHealingMs, HEALING_MS, 'after healing')],
  quarantine: (f, { quarantineMs }) => [
    entryWithin(f.entryAfterHealingMs, quarantineMs + AFTER_QUARANTINE_MS, 'after healing'),
  ],
  renewal: (f) => [toldWithin(f, RENEWAL_MS, 'after the fault'), ...overlapAtMost(f, 0)],
  minority: (f) => [
    (f.served ?? 0) < MINORITY_SERVED && `only ${percent(f.served)} of the entries of the quiet window`,
    (f.releaseMs ?? Infinity) > RELEASE_MS && `releases took ${ms(f.releaseMs ?? Infinity)} (at most ${RELEASE_MS} ms)`,
  ],
  kill: (f, { backend }) => [
    entryWithin(f.nextEntryMs, (backend === 'postgres' ? 0 : TTL_MS) + KILL_MS, 'after the kill'),
  ],
  'at once': (f) => [toldWithin(f, WAKE_TOLD_MS, 'after the fault'), ...overlapAtMost(f, WAKE_OVERLAP_MS)],
  'told by renewal': (f) => [toldWithin(f, RENEWAL_MS, 'after the fault')],
  'told in time': (f) => [toldWithin(f, TTL_MS - DRIFT_MS, 'after the fault')],
  'no losses': (f) => [f.losses > 0 && `${f.losses} locks were counted as lost for nothing`, ...overlapAtMost(f, 0)],
  overlap: (f) => overlapAtMost(f, 0),
};

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

function percent(part: number | null): string {
  return part === null ? 'none' : `${Math.round(part * 100)} %`;
}
