/** `npm run faults [-- --only <fault> --with <adapter>]`, both as often as wished; exit code 1 when ours broke a promise, or a broken one was not caught. */
import { parseArgs } from 'node:util';
import { ADAPTERS, adapterOf } from './adapters.js';
import { FAULTS, faultOf } from './faults.js';
import { line } from './report.js';
import { runTrial } from './run-trial.js';
import { Stage } from './stage.js';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    with: { type: 'string', multiple: true, default: [] },
    verbose: { type: 'boolean', default: false },
  },
});
const faults = values.only.length > 0 ? values.only.map(faultOf) : FAULTS;
const adapters = values.with.length > 0 ? values.with.map(adapterOf) : ADAPTERS.filter(({ role }) => role === 'ours');

const stage = await Stage.start();
try {
  for (const fault of faults) {
    for (const adapter of adapters.filter((one) => fault.fits(one))) {
      const start = performance.now();
      try {
        const { evidence, ...result } = await runTrial(stage, fault, adapter);
        console.log(`${line(result)} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
        for (const violation of result.violations) console.log(`  ! ${violation}`);
        if (values.verbose) {
          const { holds: _, entries: __, log: ___, ...rest } = evidence;
          console.dir({ ...result, rest, held: evidence.holds.filter(({ long }) => long) }, { depth: 8 });
        }
        if (adapter.role === 'ours' && result.violations.length > 0) process.exitCode = 1;
      } catch (error) {
        process.exitCode = 1;
        console.log(`${fault.id} × ${adapter.id}: FAILED: ${(error as Error).stack}`);
      }
    }
  }
} finally {
  await stage.stop();
}
