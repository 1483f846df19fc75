import type { Scenario } from './scenarios.js';
import { type RunResult, simulate } from './world.js';

export interface CampaignResult {
  readonly scenario: Scenario;
  readonly runs: number;
  readonly grants: number;
  /** The runs in which a promise was broken. */
  readonly broken: readonly RunResult[];
}

/** Runs take turns, since each mostly waits for its promises to settle. They share nothing, so the result does not depend on it. */
const AT_ONCE = 64;

/** Stops early when `enough` runs have broken a promise. */
export async function campaign(
  scenario: Scenario,
  firstSeed: number,
  runs: number,
  enough = Infinity,
): Promise<CampaignResult> {
  const broken: RunResult[] = [];
  let grants = 0;
  let next = firstSeed;
  const worker = async (): Promise<void> => {
    while (next < firstSeed + runs && broken.length < enough) {
      const result = await simulate(next++, scenario);
      grants += result.grants;
      if (result.violations.length > 0) broken.push(result);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  broken.sort((a, b) => a.seed - b.seed);
  return { scenario, runs, grants, broken };
}

/** What was broken in the first such run, and how to see it happen again. */
export function complaint({ scenario, broken }: CampaignResult): string {
  const [first] = broken;
  if (!first) return '';
  const again = `npm run simulate -- --scenario '${scenario.name}' --seed ${first.seed} --trace`;
  return `${broken.length} runs of "${scenario.name}" broke a promise. Seed ${first.seed}: ${first.violations[0]}. Replay: ${again}`;
}
