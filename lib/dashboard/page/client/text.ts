import type { Hold, HoldEnd, LockRow } from '../../protocol.js';

/** How the page says things. */
export function createText() {
  const UNITS = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1000],
  ] as const;

  /** The two units that matter: `850 ms`, `12 s`, `4 m 10 s`, `3 h 12 m`. */
  function duration(ms: number): string {
    const at = UNITS.findIndex(([, unitMs]) => ms >= unitMs);
    if (at < 0) return `${Math.max(0, Math.round(ms))} ms`;
    const [unit, unitMs] = UNITS[at]!;
    const next = UNITS[at + 1];
    const rest = next ? Math.floor((ms % unitMs) / next[1]) : 0;
    return `${Math.floor(ms / unitMs)} ${unit}${next && rest > 0 ? ` ${rest} ${next[0]}` : ''}`;
  }

  function latency(ms: number): string {
    return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
  }

  const two = (value: number): string => String(value).padStart(2, '0');

  /** The time of day here. */
  function time(at: number): string {
    const date = new Date(at);
    return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  }

  function dateTime(at: number): string {
    const date = new Date(at);
    return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time(at)}`;
  }

  /** The process that holds it. */
  function holder({ pod, pid }: Pick<LockRow, 'pod' | 'pid'>): string {
    return pod === undefined ? 'unknown' : pid === undefined ? pod : `${pod} (${pid})`;
  }

  const ENDS: Readonly<Record<HoldEnd, string>> = {
    ended: 'given back, or taken',
    released: 'given back',
    expired: 'ran out: not renewed in time',
    lost: 'lost',
    forced: 'released by force',
  };
  const REASONS: Readonly<Record<NonNullable<Hold['reason']>, string>> = {
    expired: 'its lease ran out',
    taken: 'the store no longer had it',
    disconnected: 'the connection that held it broke',
    'max-hold': 'held for longer than maxHold',
    shutdown: 'the application shut down',
    released: 'already released',
  };

  function reason(why: NonNullable<Hold['reason']>): string {
    return REASONS[why];
  }

  function end({ end: how, reason: why }: Pick<Hold, 'end' | 'reason'>): string {
    return how === 'lost' && why ? `lost: ${REASONS[why]}` : ENDS[how];
  }

  function count(number: number, one: string, more: string): string {
    return `${number.toLocaleString('en')} ${number === 1 ? one : more}`;
  }

  return { duration, latency, time, dateTime, holder, reason, end, count };
}

export type Text = ReturnType<typeof createText>;
