import { TTL_MS, type Adapter } from './adapters.js';
import type { Fault } from './fault.js';
import type { Findings } from './findings.js';
import { healingLimitMs, MARGINS, MINORITY_SERVED, RELEASE_MS, toldLimitMs, type LimitName } from './limits.js';

/** Less is how long a look at the clock takes. */
const LEAST_OVERLAP_MS = 1;

/** What came of a fault, in a few words for a cell: what went wrong, or else the figure that matters. */
export function cellOf(findings: Findings, fault: Fault, adapter: Adapter): string {
  const limits = fault.limits(adapter);
  const wrong = [...harm(findings), ...lateness(findings, limits, adapter), ...leftovers(findings)];
  if (wrong.length > 0) return wrong.join('; ');
  const figure = goodFigure(findings, limits);
  return figure === '' ? '✓' : `✓ ${figure}`;
}

/** What a holder's own check could not prevent. Where there are tokens, the guards are told apart. */
function harm(f: Findings): string[] {
  const { lostUpdates, overlapMs, tokensBackwards, tokensRepeated } = f;
  const lost = lostUpdates?.none ?? 0;
  const guarded = `without a guard, ${lostUpdates?.write} with a check in the write alone, ${lostUpdates?.claim} with a claim`;
  return [
    lost > 0 && `**${lost} lost ${lost === 1 ? 'update' : 'updates'}**${tokensBackwards === null ? '' : ` ${guarded}`}`,
    overlapMs > LEAST_OVERLAP_MS && `two holders for ${duration(overlapMs)}`,
    !!tokensBackwards && `${tokensBackwards} tokens backwards`,
    !!tokensRepeated && `${tokensRepeated} tokens repeated`,
  ].filter((text): text is string => text !== false);
}

function lateness(f: Findings, limits: readonly LimitName[], adapter: Adapter): string[] {
  const told = limits.map(toldLimitMs).find((limit) => limit !== undefined);
  const served = f.served ?? 0;
  const minority = limits.includes('minority');
  const releaseMs = f.releaseMs ?? 0;
  return [
    told !== undefined && f.toldMs === null && f.checkSaid !== 'lost' && 'not told before it wrote',
    told !== undefined && f.toldMs === null && f.checkSaid === 'lost' && 'not told; found out by its check',
    told !== undefined && f.toldMs !== null && f.toldMs > told + MARGINS.times && `told after ${duration(f.toldMs)}`,
    limits.includes('wake') && f.checkSaid === 'held' && 'its check said "held"',
    minority && served < MINORITY_SERVED && `${percent(served)} of the usual entries`,
    minority && releaseMs > RELEASE_MS && `a release takes ${duration(releaseMs)}`,
    limits.includes('no losses') && f.losses > 0 && `${f.losses} locks lost for nothing`,
    comesLate(f, limits, adapter) && `next in only ${duration(f.entryAfterHealingMs ?? 0)} after its end`,
    f.recoveryMs === null && 'not everybody is served again within 8 s',
  ].filter((text) => text !== false);
}

function comesLate({ entryAfterHealingMs }: Findings, limits: readonly LimitName[], adapter: Adapter): boolean {
  const limit = limits.map((name) => healingLimitMs(name, adapter)).find((ms) => ms !== undefined);
  return limit !== undefined && entryAfterHealingMs !== null && entryAfterHealingMs > limit + MARGINS.times;
}

function leftovers(f: Findings): string[] {
  const some = (count: number, one: string, more: string): string | false =>
    count > 0 && `${count} ${count === 1 ? one : more}`;
  return [
    some(f.keysLeft, 'key left behind', 'keys left behind'),
    some(f.keysWithoutTtl, 'key without a ttl', 'keys without a ttl'),
    some(f.timersLeft, 'timer left behind', 'timers left behind'),
    some(f.rejections, 'unhandled rejection', 'unhandled rejections'),
    some(f.crashes, 'crash', 'crashes'),
  ].filter((text): text is string => text !== false);
}

function goodFigure(f: Findings, limits: readonly LimitName[]): string {
  if (limits.includes('minority')) return `${percent(f.served ?? 0)} of the usual entries`;
  if (limits.includes('kill')) return `next in after ${duration(f.nextEntryMs ?? 0)}`;
  const comesBack = limits.includes('healing') || limits.includes('quarantine');
  const next = comesBack ? `, next in ${duration(f.entryAfterHealingMs ?? 0)} after its end` : '';
  if (f.toldMs !== null) return `told after ${duration(f.toldMs)}${next}`;
  if (limits.includes('no losses')) return 'nothing lost';
  return f.checkSaid === 'held' ? 'goes on' : '';
}

/** Of the entries of a lock whose others' usual pace differs. */
export function percent(part: number): string {
  return `${Math.round(part * 100)} %`;
}

export function duration(ms: number): string {
  return ms < 100 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < TTL_MS ? 2 : 1)} s`;
}
