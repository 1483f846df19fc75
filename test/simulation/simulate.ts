/**
 * `npm run simulate -- --runs 20000 --seed 1`: so many runs of each scenario; exit code 1 when a promise was broken, or a broken variant was not caught.
 * `--scenario <part of its name>` for some of them; `--trace` prints all that happens in the run with that seed.
 * `--mutations`: how many seeds each broken variant takes until it is caught, as a table; `--runs` is then the most that are tried.
 */
import { parseArgs } from 'node:util';
import { ENTRIES, type Entry } from './campaigns.js';

// Runs refuse locks by the thousand, and nobody reads where.
Error.stackTraceLimit = 0;

const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    scenario: { type: 'string', default: '' },
    trace: { type: 'boolean', default: false },
    mutations: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const chosen = ENTRIES.filter(({ name }) => name.includes(values.scenario));

async function replay({ name, once }: Entry): Promise<boolean> {
  console.log(name);
  const { violations } = await once(seed, console.log);
  for (const violation of violations) console.log(`BROKEN: ${violation}`);
  return true;
}

async function check(entry: Entry): Promise<boolean> {
  const startedAt = performance.now();
  const result = await entry.often(seed, Number(values.runs ?? 2000));
  const perMinute = Math.round((result.results.length / (performance.now() - startedAt)) * 60_000);
  const { results, grants, broken } = result;
  console.log(
    `${entry.name}: ${results.length} runs, ${grants} grants, ${broken.length} broken; ${perMinute} runs a minute`,
  );
  const expected = entry.sound === (broken.length === 0);
  if (!expected) console.log((await entry.explain(result)) || 'NOT CAUGHT');
  return expected;
}

/** Without who, when and how much. */
function inShort(violation: string): string {
  return violation
    .replace(/^p\d+: /, '')
    .replace(/(:|,| at \d).*/, '')
    .replace(/\d+(\.\d+)?/g, '…');
}

/** One row of the table. */
async function hunt(entry: Entry): Promise<boolean> {
  const most = Number(values.runs ?? 10_000);
  const [first] = (await entry.often(seed, most, 1)).broken;
  const [took, what] = first ? [first.seed - seed + 1, first.violations[0]!] : [`none in ${most}`, ''];
  console.log(`| ${entry.campaign} | ${entry.name} | ${took} | ${inShort(what)} |`);
  return first !== undefined;
}

let sound = chosen.length > 0;
if (values.mutations) {
  console.log('| campaign | taken away | seeds until found | found as |\n| --- | --- | --- | --- |');
  for (const entry of chosen) if (!entry.sound) sound = (await hunt(entry)) && sound;
} else {
  for (const entry of chosen) sound = (await (values.trace ? replay(entry) : check(entry))) && sound;
}
process.exitCode = sound ? 0 : 1;
