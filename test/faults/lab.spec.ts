import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adapterOf } from './lab/adapters.js';
import { faultOf } from './lab/faults.js';
import { violationsOf } from './lab/results.js';
import { runTrial, type Trialled } from './lab/run-trial.js';
import { Stage } from './lab/stage.js';

/** Here other suites run on the same cores: what is only late is for `npm run faults`, which has all the faults as well. */
const MARGINS = { times: 300, overlaps: 100 };
const LIMIT_MS = 120_000;

describe('Four workers on three nodes, in the fault lab,', () => {
  let stage: Stage | undefined;
  beforeAll(async () => void (stage = await Stage.start(3)), 60_000);
  afterAll(() => stage?.stop());

  const run = (fault: string, adapter: string): Promise<Trialled> =>
    runTrial(stage!, faultOf(fault), adapterOf(adapter));

  it.each(['pause', 'holder-cut', 'majority-hung'])(
    'are shown what was promised: %s',
    async (fault) => {
      const result = await run(fault, 'ours-3');
      expect(violationsOf(result, MARGINS)).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    'lose updates, and are seen to overlap, without a lock',
    async () => {
      const { findings } = await run('kill', 'no-lock');
      expect(findings.lostUpdates!.none).toBeGreaterThan(0);
      expect(findings.staleWrites!.none).toBeGreaterThan(0);
      expect(findings.wrongChecks).toBeGreaterThan(0);
      expect(findings.overlapMs).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );

  it(
    'are seen to hold at the same time where empty nodes vote at once',
    async () => {
      const broken = violationsOf(await run('flushall', 'no-quarantine'), MARGINS);
      expect(broken).toContainEqual(expect.stringMatching(/^two awake holders for/));
    },
    LIMIT_MS,
  );
});
