/**
 * `npm run simulate -- --runs 20000 --seed 1`: so many runs of each scenario; exit code 1 when a promise was broken, or a broken variant was not caught.
 * `--scenario <part of its name>` for some of them; `--trace` prints all that happens in the run with that seed.
 */
import { parseArgs } from 'node:util';
import { campaign, complaint } from './campaign.js';
import { BROKEN, SOUND } from './scenarios.js';
import { simulate } from './world.js';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    scenario: { type: 'string', default: '' },
    trace: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const chosen = [...SOUND, ...BROKEN].filter(({ name }) => name.includes(values.scenario));

let failed = chosen.length === 0;
for (const scenario of chosen) {
  if (values.trace) {
    console.log(scenario.name);
    const { violations } = await simulate(seed, scenario, console.log);
    for (const violation of violations) console.log(`BROKEN: ${violation}`);
    continue;
  }
  const result = await campaign(scenario, seed, Number(values.runs));
  console.log(`${scenario.name}: ${result.runs} runs, ${result.grants} grants, ${result.broken.length} broken`);
  const expected = BROKEN.includes(scenario) === result.broken.length > 0;
  if (!expected) console.log(complaint(result) || 'NOT CAUGHT');
  failed ||= !expected;
}
process.exitCode = failed ? 1 : 0;
