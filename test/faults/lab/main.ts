/**
 * `npm run faults [-- --only <fault> --with <adapter>]`, both as often as wished; without `--with` ours, and with `--peers` the others too. `--write` keeps the
 * figures and renders docs/reliability.md, `--resume` goes on with a run that was stopped, `--render` only renders. Exit code 1 when ours broke a promise, or one
 * that is broken on purpose was not caught.
 */
import { parseArgs } from 'node:util';
import { machine } from '../../../bench/machine.js';
import { installPeers } from '../../../bench/peers.js';
import { ADAPTERS, adapterOf, type Adapter } from './adapters.js';
import type { Fault } from './fault.js';
import { FAULTS, faultOf } from './faults.js';
import { writePage } from './page.js';
import { line } from './report.js';
import { plan, readResults, writeResults, type Result, type Results } from './results.js';
import { runTrial } from './run-trial.js';
import { Stage } from './stage.js';

const flag = { type: 'boolean', default: false } as const;
const many = { type: 'string', multiple: true, default: [] as string[] } as const;
const { values } = parseArgs({
  options: { only: many, with: many, peers: flag, write: flag, resume: flag, render: flag, verbose: flag },
});

if (values.write && values.only.length + values.with.length > 0) {
  console.error('The page has one whole run: --write goes with neither --only nor --with.');
  process.exit(2);
}

/** What is broken on purpose does not break a promise each time. */
const MOST_TRIES = 3;

async function observed(
  stage: Stage,
  fault: Fault,
  adapter: Adapter,
): Promise<{ result: Result; violations: readonly string[] }> {
  for (let tries = 1; ; tries++) {
    const start = performance.now();
    const trialled = await runTrial(stage, fault, adapter);
    const { evidence, violations, ...result } = trialled;
    console.log(`${line(trialled)} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
    for (const violation of violations) console.log(`  ! ${violation}`);
    if (values.verbose) {
      const held = evidence.holds.filter(({ long }) => long);
      console.dir({ findings: trialled.findings, held }, { depth: 8 });
    }
    const { caughtBy } = adapter;
    if (caughtBy !== fault.id || violations.length > 0 || tries === MOST_TRIES) return { result, violations };
    console.log('  not caught; once more');
  }
}

async function main(): Promise<void> {
  const faults = values.only.length > 0 ? values.only.map(faultOf) : FAULTS;
  const wanted = ADAPTERS.filter(({ role }) => role !== 'peer' || values.peers);
  const adapters = values.with.length > 0 ? values.with.map(adapterOf) : wanted;
  if (adapters.some(({ role }) => role === 'peer')) await installPeers(console.log);
  const command = `npm run faults --${values.peers ? ' --peers' : ''} --write`;
  const run = `${new Date().toISOString().slice(0, 10)}, \`${command}\`, ${machine()}`;
  let kept: Results = values.resume ? readResults() : { run, results: [] };
  const isDone = (fault: string, adapter: string): boolean =>
    kept.results.some((result) => result.fault === fault && result.adapter === adapter);
  const stage = await Stage.start();
  try {
    // A cell of its own may be looked at with any adapter that fits, also one that another fault catches.
    const cells =
      values.with.length > 0 && values.only.length > 0
        ? faults.flatMap((fault) => adapters.filter(fault.fits).map((adapter) => [fault, adapter] as const))
        : plan(faults, adapters);
    for (const [fault, adapter] of cells.filter(([{ id }, { id: other }]) => !isDone(id, other))) {
      const { violations, result } = await observed(stage, fault, adapter);
      const caught = violations.length > 0;
      if (adapter.caughtBy === fault.id ? !caught : adapter.role === 'ours' && caught) process.exitCode = 1;
      kept = { ...kept, results: [...kept.results, result] };
      if (values.write) writeResults(kept);
    }
  } finally {
    await stage.stop();
  }
}

if (!values.render) await main();
if (values.write || values.render) writePage();
