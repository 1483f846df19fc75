import * as failover from '../stores/failover/simulation/scenarios.js';
import { simulate as simulateFailover } from '../stores/failover/simulation/world.js';
import * as tokens from '../stores/redis/simulation/scenarios.js';
import { simulate as simulateTokens } from '../stores/redis/simulation/world.js';
import {
  campaign,
  explain,
  type CampaignResult,
  type Named,
  type RunResult,
  type Simulate,
  type Trace,
} from './campaign.js';
import * as manager from './manager/scenarios.js';
import { simulate as simulateManager } from './manager/world.js';

/** One scenario of some campaign. */
export interface Entry {
  readonly name: string;
  /** Which code it drives. */
  readonly campaign: string;
  readonly sound: boolean;
  once(seed: number, trace: Trace): Promise<RunResult>;
  often(firstSeed: number, runs: number, enough?: number): Promise<CampaignResult>;
  explain(result: CampaignResult): Promise<string>;
}

function entries<C extends Named>(
  name: string,
  simulate: Simulate<C, RunResult>,
  { SOUND, BROKEN }: { readonly SOUND: readonly C[]; readonly BROKEN: readonly C[] },
): Entry[] {
  return [...SOUND, ...BROKEN].map((scenario) => ({
    name: scenario.name,
    campaign: name,
    sound: SOUND.includes(scenario),
    once: (seed, trace) => simulate(seed, scenario, trace),
    often: (firstSeed, runs, enough) => campaign(simulate, scenario, firstSeed, runs, enough),
    explain: (result) => explain(simulate, scenario, result),
  }));
}

export const ENTRIES: readonly Entry[] = [
  ...entries('tokens', simulateTokens, tokens),
  ...entries('manager', simulateManager, manager),
  ...entries('failover', simulateFailover, failover),
];
