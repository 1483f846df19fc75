/** `npm run soak -- --minutes 10 [--seed 1]`; exit code 1 when a promise was broken. */
import { parseArgs } from 'node:util';
import { soak } from './soak-run.js';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string', default: '1' } },
});
const { holds, holdsEach, faults, violations } = await soak(Number(values.minutes) * 60_000, Number(values.seed));
console.log(`${holds} holds (${holdsEach.join(', ')}), ${faults.restart} empty restarts, ${faults.freeze} freezes`);
console.log(violations.length === 0 ? 'no violation' : violations.join('\n'));
process.exitCode = violations.length === 0 && holds > 0 ? 0 : 1;
