/** `npm run history -- --seconds 60 [--seed 1] [--on Redis]`: on each store whose name has that in it; exit code 1 when a history cannot be that of a fenced mutex. */
import { parseArgs } from 'node:util';
import { record, STORES } from './history-run.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    on: { type: 'string', default: '' },
  },
});
let sound = true;
for (const name of STORES.filter((each) => each.includes(values.on))) {
  const { history, violations, faults } = await record(name, Number(values.seconds) * 1000, Number(values.seed));
  const counts = new Map<string, number>();
  for (const { what, outcome } of history)
    counts.set(`${what} ${outcome}`, (counts.get(`${what} ${outcome}`) ?? 0) + 1);
  const said = [...counts].sort().map(([what, times]) => `${what} ${times}`);
  console.log(`${name}: ${history.length} operations (${said.join(', ')}), ${faults} faults`);
  console.log(violations.length === 0 ? 'explained by a fenced mutex' : violations.slice(0, 10).join('\n'));
  sound &&= violations.length === 0;
}
process.exitCode = sound ? 0 : 1;
