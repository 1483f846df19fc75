import { describe, expect, it, jest } from '@jest/globals';
import { campaign, explain } from './campaign.js';
import { BROKEN, SOUND } from './manager/scenarios.js';
import { simulate } from './manager/world.js';

/** Longer runs: `npm run simulate -- --runs 20000 --scenario manager`. */
const FIRST_SEED = 1;

// Some seconds of computing, which a busy machine may stretch.
jest.setTimeout(120_000);

describe('Managers over Redlock, in a simulation of pauses, sleeping machines, outages, empty restarts and drifting clocks', () => {
  it.each(SOUND)(
    'keep holders apart, tell of losses, end every wait and leave nothing behind: $name',
    async (scenario) => {
      const result = await campaign(simulate, scenario, FIRST_SEED, scenario.runs);
      expect(await explain(simulate, scenario, result)).toBe('');
      // Promises about nothing are easily kept.
      expect(result.grants).toBeGreaterThan(4 * scenario.runs);
    },
  );

  it.each(BROKEN.filter(({ runs }) => runs > 0))('are caught breaking a promise: $name', async (scenario) => {
    const { broken } = await campaign(simulate, scenario, FIRST_SEED, scenario.runs, 1);
    expect(broken.length).toBeGreaterThan(0);
  });

  it('do the same again for the same seed, to the last event', async () => {
    const [scenario] = SOUND;
    const run = async (): Promise<string[]> => {
      const lines: string[] = [];
      await simulate(7, scenario!, (line) => lines.push(line));
      return lines;
    };
    const first = await run();
    expect(first.length).toBeGreaterThan(5);
    expect(await run()).toEqual(first);
  });
});
