/** `npm run soak -- --minutes 30 [--seed 1] [--store Redis]`: shared by the stores whose name has that in it; exit code 1 when a promise was broken. */
import { parseArgs } from 'node:util';
import { STORES } from './places.js';
import { soak } from './soak-run.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    store: { type: 'string', default: '' },
  },
});
const stores = STORES.filter((name) => name.includes(values.store));
let sound = stores.length > 0;
for (const name of stores) {
  const { holds, holdsEach, faults, violations, samples } = await soak(
    name,
    (Number(values.minutes) * 60_000) / stores.length,
    Number(values.seed),
  );
  const befell = [...faults].map(([fault, times]) => `${fault} ${times}`).join(', ');
  const [first, last] = samples.map(({ heapBytes, listeners, resources }) => {
    return `${(heapBytes / 1e6).toFixed(1)} MB, ${listeners} listeners, ${resources} resources`;
  });
  console.log(`${name}: ${holds} holds (${holdsEach.join(', ')}); ${befell}`);
  console.log(`  at first ${first}; at last ${last}`);
  console.log(violations.length === 0 ? '  no violation' : violations.join('\n'));
  sound &&= violations.length === 0 && holds > 0;
}
process.exitCode = sound ? 0 : 1;
