import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { adapterOf, type Adapter } from './adapters.js';
import type { Fault } from './fault.js';
import { faultOf } from './faults.js';
import type { Findings } from './findings.js';
import { violations, type Margins } from './limits.js';

/** What one trial came to. */
export interface Result {
  readonly fault: string;
  readonly adapter: string;
  readonly findings: Findings;
}

/** What one run came to. */
export interface Results {
  /** When, with which command, on what. */
  readonly run: string;
  readonly results: readonly Result[];
}

const FILE = new URL('./results.json', import.meta.url);

export function readResults(): Results {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Results) : { run: '', results: [] };
}

export function writeResults({ run, results }: Results): void {
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Math.round(value * 1000) / 1000 : value;
  const lines = results.map((result) => ` ${JSON.stringify(result, rounded)}`);
  writeFileSync(FILE, `{ "run": ${JSON.stringify(run)}, "results": [\n${lines.join(',\n')}\n] }\n`);
}

/** Each broken promise, in words. Of others than ours: what ours would have broken. */
export function violationsOf({ fault, adapter, findings }: Result, margins?: Margins): string[] {
  return violations(findings, faultOf(fault).limits(adapterOf(adapter)), adapterOf(adapter), margins);
}

/** As much as the lab finds out of every one: ours and peers in all faults that fit, the others in the one that catches them. */
export function plan(faults: readonly Fault[], adapters: readonly Adapter[]): [Fault, Adapter][] {
  return faults.flatMap((fault) =>
    adapters
      .filter((adapter) => fault.fits(adapter) && (adapter.caughtBy ?? fault.id) === fault.id)
      .map((adapter): [Fault, Adapter] => [fault, adapter]),
  );
}
