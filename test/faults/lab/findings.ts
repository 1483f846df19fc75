import { GUARDS, type Guard, type HoldRecord, type Span } from './messages.js';
import type { LoggedWrite } from './ledger.js';
import type { Left } from './trial.js';

/** All that was seen of one trial. Times are of the machine's monotonic clock, in ms. */
export interface Evidence {
  readonly key: string;
  readonly victim: string;
  readonly quietAt: number;
  readonly brokenAt: number;
  readonly healedAt: number;
  readonly wokeAt: number | null;
  readonly recoveredAt: number | null;
  readonly holds: readonly HoldRecord[];
  readonly entries: readonly {
    readonly worker: string;
    readonly at: number;
    readonly token: number | null;
    readonly long: boolean;
  }[];
  /** Holders that were killed, and when. */
  readonly killed: readonly { readonly worker: string; readonly at: number }[];
  readonly log: readonly LoggedWrite[];
  readonly values: Readonly<Record<Guard, number>>;
  readonly failures: number;
  readonly rejections: readonly string[];
  readonly crashes: readonly string[];
  readonly timers: readonly string[];
  readonly left: Left;
}

/** What it comes to. Times in ms; null where there is nothing to tell. */
export interface Findings {
  readonly entries: number;
  readonly quietPerSecond: number;
  /** Entries while the fault lasted, per time, as a part of those before. */
  readonly served: number | null;
  readonly lostUpdates: Readonly<Record<Guard, number>> | null;
  readonly staleWrites: Readonly<Record<Guard, number>> | null;
  readonly overlapMs: number;
  readonly tokensBackwards: number | null;
  readonly tokensRepeated: number | null;
  /** When the holder was told, after the fault began, or after it woke. Null: never, or it had nothing to be told. */
  readonly toldMs: number | null;
  readonly toldBeforeNextEntry: boolean | null;
  /** What its check said right before its next write: null if there was none. */
  readonly checkSaid: 'held' | 'lost' | null;
  /** Writes before which a check said "held" though another had been let in. */
  readonly wrongChecks: number;
  /** Of all holds: told of a loss, or found out by the check. */
  readonly losses: number;
  /** After the fault began: until anyone got in. */
  readonly nextEntryMs: number | null;
  /** After healing. */
  readonly entryAfterHealingMs: number | null;
  readonly recoveryMs: number | null;
  /** The 95th of 100 ways out while the fault lasted. */
  readonly releaseMs: number | null;
  readonly failures: number;
  readonly keysLeft: number;
  readonly stuckKeys: number;
  readonly keysWithoutTtl: number;
  readonly timersLeft: number;
  readonly rejections: number;
  readonly crashes: number;
}

export function findingsOf(evidence: Evidence): Findings {
  const { quietAt, brokenAt, healedAt, wokeAt, recoveredAt, victim, left } = evidence;
  const holds = evidence.holds.filter(({ key }) => key === evidence.key);
  const entries = [...evidence.entries].sort((a, b) => a.at - b.at);
  const within = (from: number, to: number): number => entries.filter(({ at }) => at > from && at <= to).length;
  const rate = (from: number, to: number): number => (to > from ? within(from, to) / ((to - from) / 1000) : 0);
  const quietPerSecond = rate(quietAt, brokenAt);
  const after = (since: number, skip?: string): number | null =>
    entries.find(({ at, worker }) => at > since && worker !== skip)?.at ?? null;
  const since = (start: number, end: number | null): number | null => (end === null ? null : end - start);
  const held = holds.findLast(({ long, worker }) => long && worker === victim);
  const next = held ? after(held.entry, victim) : null;
  const hasTokens = holds.some(({ token }) => token !== null);
  const lastWrite = held?.writes.find(({ guard, at }) => guard === 'none' && at > (wokeAt ?? brokenAt));
  return {
    entries: entries.length,
    quietPerSecond,
    served: quietPerSecond > 0 && healedAt - brokenAt > 500 ? rate(brokenAt, healedAt) / quietPerSecond : null,
    lostUpdates: perGuard(evidence, lostUpdates),
    staleWrites: perGuard(evidence, staleWrites),
    overlapMs: overlapMs(believed(evidence, holds)),
    tokensBackwards: hasTokens ? tokensBackwards(holds) : null,
    tokensRepeated: hasTokens ? holds.length - new Set(holds.map(({ token }) => token)).size : null,
    toldMs: held ? since(wokeAt ?? brokenAt, held.toldAt) : null,
    toldBeforeNextEntry: held && next !== null && next < held.exit ? held.toldAt !== null && held.toldAt < next : null,
    checkSaid: lastWrite ? (lastWrite.held ? 'held' : 'lost') : null,
    wrongChecks: holds.filter((hold) => isMisled(hold, entries)).length,
    losses: evidence.holds.filter(({ toldAt, writes }) => toldAt !== null || writes.some((write) => !write.held))
      .length,
    nextEntryMs: since(brokenAt, after(brokenAt)),
    entryAfterHealingMs: since(healedAt, after(healedAt)),
    recoveryMs: since(healedAt, recoveredAt),
    releaseMs: percentile(
      holds.filter(({ exit, long }) => !long && exit > brokenAt && exit < healedAt).map(({ releaseMs }) => releaseMs),
      0.95,
    ),
    failures: evidence.failures,
    keysLeft: left.keys.length,
    stuckKeys: left.stuck.length,
    keysWithoutTtl: left.withoutTtl.length,
    timersLeft: evidence.timers.length,
    rejections: evidence.rejections.length,
    crashes: evidence.crashes.length,
  };
}

function perGuard(evidence: Evidence, count: (evidence: Evidence, guard: Guard) => number): Record<Guard, number> {
  return Object.fromEntries(GUARDS.map((guard) => [guard, count(evidence, guard)])) as Record<Guard, number>;
}

function logOf({ log, key }: Evidence, guard: Guard): readonly LoggedWrite[] {
  return log.filter(({ counter }) => counter === `${key}:${guard}`);
}

/** Each accepted write raised the counter by one, if it knew the one before. */
function lostUpdates(evidence: Evidence, guard: Guard): number {
  return logOf(evidence, guard).length - evidence.values[guard];
}

/** Accepted although one who got the lock later had written before. */
function staleWrites(evidence: Evidence, guard: Guard): number {
  let latest = Number.NEGATIVE_INFINITY;
  return logOf(evidence, guard).filter(({ entry }) => {
    if (entry < latest) return true;
    latest = entry;
    return false;
  }).length;
}

interface Belief {
  readonly entry: number;
  readonly spans: readonly Span[];
}

function believed({ killed, entries }: Evidence, holds: readonly HoldRecord[]): Belief[] {
  const told = holds.map(({ entry, believed: spans }) => ({ entry, spans }));
  // Who was killed has told nothing; that it held is known where it had been made to.
  const untold = killed.flatMap(({ worker, at }) =>
    entries
      .filter((one) => one.worker === worker && one.long && !holds.some(({ entry }) => entry === one.at))
      .map((one) => ({ entry: one.at, spans: [[one.at, at] as const] })),
  );
  return [...told, ...untold];
}

/** For how long two who were awake both believed to hold. */
export function overlapMs(beliefs: readonly Belief[]): number {
  let sum = 0;
  const inOrder = [...beliefs].sort((a, b) => a.entry - b.entry);
  inOrder.forEach((first, index) => {
    const end = first.spans.at(-1)?.[1] ?? first.entry;
    for (const second of inOrder.slice(index + 1)) {
      if (second.entry > end) break;
      for (const a of first.spans)
        for (const b of second.spans) sum += Math.max(0, Math.min(a[1], b[1]) - Math.max(a[0], b[0]));
    }
  });
  return sum;
}

/** Not above those of all that were granted before it was asked for. */
export function tokensBackwards(holds: readonly HoldRecord[]): number {
  return holds.filter((hold) => holds.some((other) => other.entry < hold.startedAt && other.token! >= hold.token!))
    .length;
}

function isMisled({ worker, entry, writes }: HoldRecord, entries: Evidence['entries']): boolean {
  const check = writes.findLast((write) => write.held);
  return check !== undefined && entries.some((one) => one.worker !== worker && one.at > entry && one.at < check.at);
}

function percentile(values: readonly number[], part: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? null;
}
