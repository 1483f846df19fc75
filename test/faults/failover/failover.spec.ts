import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CASES } from './cases.js';
import { FailoverLab } from './failover-lab.js';
import { runCase } from './run-case.js';

/** All of them: `npm run faults:failover`. */
const CHOSEN = [
  'Redis cut for two pods, Postgres for the third',
  'Redis killed, and a holder frozen through the switch',
  'a long job through the loss and the return of Redis',
];

describe('Three pods on three Redis nodes, with Postgres to stand in', () => {
  let lab: FailoverLab | undefined;
  beforeAll(async () => void (lab = await FailoverLab.start()), 60_000);
  afterAll(() => lab?.stop());

  it.each(CHOSEN)(
    'keep what was promised: %s',
    async (chosen) => {
      const faultCase = CASES.find(({ name }) => name === chosen)!;
      const { violations, holds } = await runCase(lab!, faultCase);
      expect(violations).toEqual([]);
      expect(holds).toBeGreaterThan(20); // promises about nothing are easily kept
    },
    240_000,
  );
});
