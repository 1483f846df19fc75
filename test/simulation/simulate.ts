/**
 * `npm run simulate -- --runs 20000 --seed 1`: so many runs of each scenario; exit code 1 when a promise was broken, or a broken variant was not caught.
 * `--scenario <part of its name>` for some of them; `--trace` prints all that happens in the run with that seed.
 */
import { parseArgs } from 'node:util';
import * as failover from '../stores/failover/simulation/scenarios.js';
import { simulate as simulateFailover } from '../stores/failover/simulation/world.js';
import * as tokens from '../stores/redis/simulation/scenarios.js';
import { simulate as simulateTokens } from '../stores/redis/simulation/world.js';
import { campaign, complaint, type CampaignResult, type Named, type RunResult, type Simulate } from './campaign.js';

interface Entry {
  readonly name: string;
  readonly sound: boolean;
  once(seed: number): Promise<RunResult>;
  often(firstSeed: number, runs: number): Promise<CampaignResult>;
}

function entries<C extends Named>(
  simulate: Simulate<C, RunResult>,
  { SOUND, BROKEN }: { readonly SOUND: readonly C[]; readonly BROKEN: readonly C[] },
): Entry[] {
  return [...SOUND, ...BROKEN].map((scenario) => ({
    name: scenario.name,
    sound: SOUND.includes(scenario),
    once: (seed) => simulate(seed, scenario, console.log),
    often: (firstSeed, runs) => campaign(simulate, scenario, firstSeed, runs),
  }));
}

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    scenario: { type: 'string', default: '' },
    trace: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const all = [...entries(simulateTokens, tokens), ...entries(simulateFailover, failover)];
const chosen = all.filter(({ name }) => name.includes(values.scenario));

let failed = chosen.length === 0;
for (const entry of chosen) {
  if (values.trace) {
    console.log(entry.name);
    const { violations } = await entry.once(seed);
    for (const violation of violations) console.log(`BROKEN: ${violation}`);
    continue;
  }
  const result = await entry.often(seed, Number(values.runs));
  console.log(`${entry.name}: ${result.results.length} runs, ${result.grants} grants, ${result.broken.length} broken`);
  const expected = entry.sound === (result.broken.length === 0);
  if (!expected) console.log(complaint(result) || 'NOT CAUGHT');
  failed ||= !expected;
}
process.exitCode = failed ? 1 : 0;
