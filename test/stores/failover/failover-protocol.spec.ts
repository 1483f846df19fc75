import { describe, expect, it, jest } from '@jest/globals';
import { campaign, explain } from '../../simulation/campaign.js';
import { BROKEN, SOUND } from './simulation/scenarios.js';
import { simulate } from './simulation/world.js';

/** Longer runs: `npm run simulate -- --runs 20000 --seed 1`. */
const FIRST_SEED = 1;

// Some seconds of computing, which a busy machine may stretch.
jest.setTimeout(240_000);

describe('The switch between Redis and Postgres, in a simulation of pauses, outages, late messages and drifting clocks', () => {
  it.each(SOUND)('keeps holders apart and tokens rising: $name', async (scenario) => {
    const result = await campaign(simulate, scenario, FIRST_SEED, scenario.runs);
    expect(await explain(simulate, scenario, result)).toBe('');
    // Promises about nothing are easily kept.
    expect(result.grants).toBeGreaterThan(10 * scenario.runs);
    expect(result.results.filter(({ carried }) => carried > 0).length).toBeGreaterThanOrEqual(scenario.runs / 20);
    expect(result.results.filter(({ returns }) => returns > 0).length).toBeGreaterThanOrEqual(scenario.runs / 20);
  });

  it.each(BROKEN.filter(({ runs }) => runs > 0))('is caught breaking a promise: $name', async (scenario) => {
    const { broken } = await campaign(simulate, scenario, FIRST_SEED, scenario.runs, 1);
    expect(broken.length).toBeGreaterThan(0);
  });
});
