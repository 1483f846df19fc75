/** `npm run faults:failover [-- --only <part of a name>] [--mutant <name>]`; exit code 1 when a promise was broken. */
import { parseArgs } from 'node:util';
import { CASES } from './cases.js';
import { FailoverLab } from './failover-lab.js';
import { MUTANTS, type MutantName } from './mutants.js';
import { runCase, type CaseResult } from './run-case.js';
import { TERMS } from './trial.js';

const { values } = parseArgs({ options: { only: { type: 'string', default: '' }, mutant: { type: 'string' } } });
const mutant = values.mutant as MutantName | undefined;
if (mutant && !(mutant in MUTANTS)) throw new Error(`Known are ${Object.keys(MUTANTS).join(', ')}`);

const seconds = (ms: number): string => (ms / 1000).toFixed(1);

function row(cells: readonly (string | number)[]): void {
  console.log(`| ${cells.join(' | ')} |`);
}

function show(result: CaseResult): void {
  const { name, gapMs, podGapMs, recoveryMs, states, holds, lost, overlaps, lostUpdates, tokens } = result;
  const changes = states.length > 1 ? states.join(' → ') : 'none';
  row([
    name,
    seconds(gapMs),
    seconds(podGapMs),
    seconds(recoveryMs),
    changes,
    holds,
    lost,
    overlaps,
    lostUpdates,
    tokens,
  ]);
  for (const violation of result.violations.slice(0, 20)) console.log(`  ! ${violation}`);
}

console.log(`Terms unless a case says otherwise: ${JSON.stringify(TERMS)}. Times in s.\n`);
const columns = ['nobody served', 'a pod not served', 'back on Redis', 'authority', 'locks', 'lost', 'overlaps'];
row(['case', ...columns, 'lost updates', 'tokens not rising']);
row(['---', ...Array<string>(columns.length + 2).fill('---')]);
const lab = await FailoverLab.start();
let broken = 0;
try {
  for (const faultCase of CASES.filter(({ name }) => name.includes(values.only))) {
    try {
      const result = await runCase(lab, faultCase, mutant);
      show(result);
      broken += result.violations.length;
    } catch (error) {
      broken++;
      row([faultCase.name, 'BROKEN']);
      console.log(`  ! ${(error as Error).stack}`);
    }
  }
} finally {
  await lab.stop();
}
process.exitCode = broken === 0 ? 0 : 1;
