import type { LockEntry, LockInfo } from '../lock-info.js';

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;
const GAP = '  ';
const UNKNOWN = '-';

/** A key may hold anything; on a terminal some of it would be a command. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

export function table(locks: readonly LockEntry[], now: Date): string {
  if (locks.length === 0) return 'No locks.\n';
  const several = locks.some(({ nodes }) => nodes);
  const head = ['KEY', 'HELD BY', 'FOR', 'TTL LEFT', 'TOKEN', 'WAITERS', ...(several ? ['NODES'] : [])];
  const rows = [...locks].sort(byKey).map((lock) => {
    const { key, remainingMs, fencingToken, waiters } = lock;
    const cells = [
      printable(key),
      holder(lock),
      heldFor(lock, now),
      ms(remainingMs),
      known(fencingToken),
      known(waiters),
    ];
    return several ? [...cells, nodesOf(lock)] : cells;
  });
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const text = lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join(GAP)
      .trimEnd(),
  );
  return `${text.join('\n')}\n`;
}

/** One line for each thing that is known. */
export function details(key: string, info: LockInfo, now: Date): string {
  const { locked, owner, fencingToken, waiters } = info;
  const lines: [string, string][] = [['key', printable(key)]];
  if (owner === undefined && !locked) lines.push(['state', 'free']);
  else {
    lines.push([
      'state',
      locked ? (info.released ? 'given back, kept for its minHold' : 'held') : 'free; an attempt left it on some nodes',
    ]);
    lines.push(['held by', holder(info)], ['owner', printable(owner ?? UNKNOWN)]);
    if (info.since) lines.push(['since', `${info.since.toISOString()} (${heldFor(info, now)})`]);
    lines.push(['ttl left', ms(info.remainingMs)]);
  }
  lines.push(['token', known(fencingToken)]);
  if (waiters !== undefined) lines.push(['waiters', String(waiters)]);
  if (info.nodes) lines.push(['nodes', nodesOf(info)]);
  return lines.map(([name, value]) => `${name.padEnd(8)}${GAP}${value}\n`).join('');
}

export function holder({ pod, pid, owner, released, locked }: LockInfo): string {
  const who = pod === undefined ? printable(owner ?? UNKNOWN) : `${pod} (${pid})`;
  return released ? `${who}, kept` : locked ? who : `${who}, not held`;
}

function heldFor({ since }: LockInfo, now: Date): string {
  return since ? ms(Math.max(0, now.getTime() - since.getTime())) : UNKNOWN;
}

function ms(value: number | undefined): string {
  if (value === undefined) return UNKNOWN;
  const at = UNITS.findIndex(([, unitMs]) => value >= unitMs);
  if (at < 0) return `${Math.ceil(value)}ms`;
  const [unit, unitMs] = UNITS[at]!;
  const [lesser, lesserMs] = UNITS[at + 1] ?? [];
  const rest = lesserMs === undefined ? 0 : Math.floor((value % unitMs) / lesserMs);
  return `${Math.floor(value / unitMs)}${unit}${rest > 0 ? `${rest}${lesser}` : ''}`;
}

function known(value: number | undefined): string {
  return value === undefined ? UNKNOWN : String(value);
}

function nodesOf({ nodes }: LockInfo): string {
  if (!nodes) return UNKNOWN;
  const { holding, answering, all } = nodes;
  return `${holding}/${all}${answering < all ? `, ${all - answering} silent` : ''}`;
}

function byKey({ key: one }: LockEntry, { key: other }: LockEntry): number {
  return one < other ? -1 : 1;
}
