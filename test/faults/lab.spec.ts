import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adapterOf } from './lab/adapters.js';
import { faultOf } from './lab/faults.js';
import { runTrial } from './lab/run-trial.js';
import { Stage } from './lab/stage.js';

/** All of them: `npm run faults`. */
const CHOSEN = ['pause', 'holder-cut', 'majority-hung'];

describe('Four workers on three nodes, in the fault lab,', () => {
  let stage: Stage | undefined;
  beforeAll(async () => void (stage = await Stage.start(3)), 60_000);
  afterAll(() => stage?.stop());

  it.each(CHOSEN)(
    'are shown what was promised: %s',
    async (fault) => {
      const { violations } = await runTrial(stage!, faultOf(fault), adapterOf('ours-3'));
      expect(violations).toEqual([]);
    },
    120_000,
  );

  it('lose updates, and are seen to overlap, without a lock', async () => {
    const { findings } = await runTrial(stage!, faultOf('kill'), adapterOf('no-lock'));
    expect(findings.lostUpdates!.none).toBeGreaterThan(0);
    expect(findings.staleWrites!.none).toBeGreaterThan(0);
    expect(findings.wrongChecks).toBeGreaterThan(0);
    expect(findings.overlapMs).toBeGreaterThan(0);
  }, 120_000);
});
