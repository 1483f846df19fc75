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
export const MINORITY_SERVED = 0.8;
export const RELEASE_MS = 50;
const KILL_MS = 100;
/** Of the lease: 1 % and 2 ms. */
const DRIFT_MS = TTL_MS * 0.01 + 2;
const RENEWAL_MS = TTL_MS / 3;
/** What is added to limits, in ms. */
export interface Margins {
  /** Where a limit is a time by which a timer must have fired, or an answer must have come. */
  readonly times: number;
  readonly overlaps: number;
}

/**
 * How late a timer may be on two cores that run four workers, the servers and the proxies. Nothing is added to overlaps, nor to what was refused.
 */
export const MARGINS: Margins = { times: 30, overlaps: 0 };

/** By when a holder must have been told, if this limit says so. */
export function toldLimitMs(name: LimitName): number | undefined {
  if (name === 'wake' || name === 'wake in reply' || name === 'at once') return WAKE_TOLD_MS;
  if (name === 'deadline' || name === 'told in time') return TTL_MS - DRIFT_MS;
  return name === 'renewal' || name === 'told by renewal' ? RENEWAL_MS : undefined;
}

/** How soon after healing somebody must have got in, if this limit says so. */
export function healingLimitMs(name: LimitName, { quarantineMs }: Adapter): number | undefined {
  if (name === 'quarantine') return quarantineMs + AFTER_QUARANTINE_MS;
  return name === 'healing' ? HEALING_MS : undefined;
}

type Broken = string | false;

/** Each broken promise, in words. */
export function violations(
  findings: Findings,
  limits: readonly LimitName[],
  adapter: Adapter,
  margins = MARGINS,
): string[] {
  const judge = new Judge(findings, adapter, margins);
  const broken = [...always(findings), ...limits.flatMap((name) => LIMITS[name](judge))];
  return broken.filter((words): words is string => words !== false);
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

class Judge {
  constructor(
    readonly f: Findings,
    readonly adapter: Adapter,
    private readonly margins: Margins,
  ) {}

  overlapAtMost(limitMs: number): Broken[] {
    const { overlapMs, wrongChecks } = this.f;
    return [
      overlapMs > limitMs + this.margins.overlaps && `two awake holders for ${ms(overlapMs)} (at most ${ms(limitMs)})`,
      wrongChecks > 0 && `${wrongChecks} checks said "held" though another had been let in`,
    ];
  }

  toldWithin(limitMs: number, what: string): Broken {
    const { toldMs } = this.f;
    if (toldMs === null) return `the holder was not told ${what}`;
    return toldMs > limitMs + this.margins.times && `told ${ms(toldMs)} ${what} (at most ${ms(limitMs)})`;
  }

  toldFirst(): Broken {
    const { toldBeforeNextEntry, overlapMs } = this.f;
    const late = toldBeforeNextEntry === false && overlapMs >= this.margins.overlaps;
    return late && 'another got in before the holder was told';
  }

  nextWithin(limitMs: number): Broken {
    return this.entryWithin(this.f.entryAfterHealingMs, limitMs, 'after healing');
  }

  entryWithin(at: number | null, limitMs: number, what: string): Broken {
    if (at === null) return `nobody got in ${what}`;
    return at > limitMs + this.margins.times && `next entry ${ms(at)} ${what} (at most ${ms(limitMs)})`;
  }
}

const LIMITS: Record<LimitName, (judge: Judge) => Broken[]> = {
  wake: (j) => [
    j.f.checkSaid !== 'lost' && `the check before the next write said ${j.f.checkSaid}`,
    ...LIMITS['wake in reply'](j),
  ],
  'wake in reply': (j) => [j.toldWithin(WAKE_TOLD_MS, 'after waking'), ...j.overlapAtMost(WAKE_OVERLAP_MS)],
  deadline: (j) => [j.toldWithin(TTL_MS - DRIFT_MS, 'after the fault'), j.toldFirst(), ...j.overlapAtMost(0)],
  healing: (j) => [j.nextWithin(healingLimitMs('healing', j.adapter)!)],
  quarantine: (j) => [j.nextWithin(healingLimitMs('quarantine', j.adapter)!)],
  renewal: (j) => [j.toldWithin(RENEWAL_MS, 'after the fault'), ...j.overlapAtMost(0)],
  minority: ({ f }) => [
    (f.served ?? 0) < MINORITY_SERVED && `only ${percent(f.served)} of the entries of the quiet window`,
    (f.releaseMs ?? Infinity) > RELEASE_MS && `releases took ${ms(f.releaseMs ?? Infinity)} (at most ${RELEASE_MS} ms)`,
  ],
  kill: (j) => [
    j.entryWithin(j.f.nextEntryMs, (j.adapter.backend === 'postgres' ? 0 : TTL_MS) + KILL_MS, 'after the kill'),
  ],
  'at once': (j) => [j.toldWithin(WAKE_TOLD_MS, 'after the fault'), ...j.overlapAtMost(WAKE_OVERLAP_MS)],
  'told by renewal': (j) => [j.toldWithin(RENEWAL_MS, 'after the fault')],
  'told in time': (j) => [j.toldWithin(TTL_MS - DRIFT_MS, 'after the fault')],
  'no losses': (j) => [j.f.losses > 0 && `${j.f.losses} locks were counted as lost for nothing`, ...j.overlapAtMost(0)],
  overlap: (j) => j.overlapAtMost(0),
};

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

function percent(part: number | null): string {
  return part === null ? 'none' : `${Math.round(part * 100)} %`;
}
