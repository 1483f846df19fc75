import { describe, expect, it, jest } from '@jest/globals';
import { campaign, explain } from '../../simulation/campaign.js';
import { BROKEN, SOUND } from './simulation/scenarios.js';
import { simulate } from './simulation/world.js';

/** Longer runs: `npm run simulate -- --runs 20000 --seed 1`. What is promised under which conditions: simulation/conditions.ts. */
const FIRST_SEED = 1;

// Some seconds of computing, which a busy machine may stretch.
jest.setTimeout(120_000);

describe('The protocol of tokens and leases, in a simulation of hostile networks, nodes and clocks', () => {
  it.each(SOUND)('keeps its promises: $name', async (scenario) => {
    const result = await campaign(simulate, scenario, FIRST_SEED, scenario.runs);
    expect(await explain(simulate, scenario, result)).toBe('');
    // Promises about nothing are easily kept.
    expect(result.grants).toBeGreaterThan(scenario.runs);
  });

  it.each(BROKEN)('is caught breaking them: $name', async (scenario) => {
    const { broken } = await campaign(simulate, scenario, FIRST_SEED, scenario.runs, 1);
    expect(broken.length).toBeGreaterThan(0);
  });

  it('does the same again for the same seed', async () => {
    const [scenario] = BROKEN;
    const first = await campaign(simulate, scenario!, 1, 50);
    const second = await campaign(simulate, scenario!, 1, 50);
    expect(second).toEqual(first);
    const [{ seed } = { seed: 0 }] = first.broken;
    expect((await campaign(simulate, scenario!, seed, 1)).broken).toEqual(first.broken.slice(0, 1));
  });
});
