import type { Trialled } from './run-trial.js';

/** One trial on one line, for the terminal. */
export function line({ fault, adapter, findings: f, violations }: Trialled): string {
  const ms = (value: number | null): string => (value === null ? '–' : `${Math.round(value)} ms`);
  const lost = f.lostUpdates ? `${f.lostUpdates.none}/${f.lostUpdates.write}/${f.lostUpdates.claim}` : '–';
  const parts = [
    `lost updates ${lost}`,
    `overlap ${ms(f.overlapMs)}`,
    `told ${ms(f.toldMs)}`,
    `check ${f.checkSaid ?? '–'}`,
    `served ${f.served === null ? '–' : `${Math.round(f.served * 100)} %`} of ${f.quietPerSecond.toFixed(0)}/s`,
    `next ${ms(f.nextEntryMs)}`,
    `after healing ${ms(f.entryAfterHealingMs)}, all ${ms(f.recoveryMs)}`,
    `release ${ms(f.releaseMs)}`,
  ];
  return `${violations.length === 0 ? 'ok ' : 'BAD'} ${fault} × ${adapter}: ${parts.join('; ')}`;
}
