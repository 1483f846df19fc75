export interface RunResult {
  readonly seed: number;
  readonly grants: number;
  readonly violations: readonly string[];
}

export type Trace = (event: string) => void;

/** One run of some conditions; all of it follows from the seed. */
export type Simulate<C, R extends RunResult> = (seed: number, conditions: C, trace?: Trace) => Promise<R>;

export interface Named {
  readonly name: string;
}

export interface CampaignResult<R extends RunResult = RunResult> {
  readonly scenario: Named;
  readonly results: readonly R[];
  readonly grants: number;
  /** The runs in which a promise was broken. */
  readonly broken: readonly R[];
}

/** Runs take turns, since each mostly waits for its promises to settle. They share nothing, so the result does not depend on it. */
const AT_ONCE = 64;
/** Where one broken run is enough, the others at that time are for nothing. */
const FEW_AT_ONCE = 8;

/** Stops early when `enough` runs have broken a promise. */
export async function campaign<C extends Named, R extends RunResult>(
  simulate: Simulate<C, R>,
  scenario: C,
  firstSeed: number,
  runs: number,
  enough = Infinity,
): Promise<CampaignResult<R>> {
  const results: R[] = [];
  const broken: R[] = [];
  let grants = 0;
  let next = firstSeed;
  const worker = async (): Promise<void> => {
    while (next < firstSeed + runs && broken.length < enough) {
      const result = await simulate(next++, scenario);
      results.push(result);
      grants += result.grants;
      if (result.violations.length > 0) broken.push(result);
    }
  };
  await Promise.all(Array.from({ length: enough < Infinity ? FEW_AT_ONCE : AT_ONCE }, worker));
  broken.sort((a, b) => a.seed - b.seed);
  return { scenario, results, grants, broken };
}

/** What was broken in the first such run, and how to see it happen again. */
export function complaint({ scenario, broken }: CampaignResult): string {
  const [first] = broken;
  if (!first) return '';
  const again = `npm run simulate -- --scenario '${scenario.name}' --seed ${first.seed} --trace`;
  return `${broken.length} runs of "${scenario.name}" broke a promise. Seed ${first.seed}: ${first.violations[0]}. Replay: ${again}`;
}

/** How much of what happened before. */
const TRACE_LINES = 80;

/** The complaint, with the end of the trace of that run; nothing where no promise was broken. */
export async function explain<C extends Named, R extends RunResult>(
  simulate: Simulate<C, R>,
  scenario: C,
  result: CampaignResult<R>,
): Promise<string> {
  const [first] = result.broken;
  if (!first) return '';
  const lines: string[] = [];
  await simulate(first.seed, scenario, (line) => lines.push(line));
  const left = lines.length > TRACE_LINES ? [`… ${lines.length - TRACE_LINES} lines before`] : [];
  return [complaint(result), ...left, ...lines.slice(-TRACE_LINES)].join('\n');
}
