/**
 * `npm run bench -- [--smoke | --write] [--json] [--check] [--only <word>] [--rounds <factor>]`, or `--render`. Starts its own servers. See docs/performance.md.
 */
import { parseArgs } from 'node:util';
import { machine } from './machine.js';
import { tableText } from './markdown.js';
import { writePage } from './page.js';
import { installPeers } from './peers.js';
import { readResults, writeResults } from './results.js';
import { runScenario } from './run-scenario.js';
import { full, SMOKE } from './scale.js';
import type { Scenario } from './scenario.js';
import { SCENARIOS } from './scenarios.js';
import type { Table } from './table.js';
import { shortText, verdicts } from './target.js';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    render: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: '1' },
  },
});
const { smoke, write, render, json, check, only } = values;
const log = (line: string): void => (json ? console.error(line) : console.log(line));

const chosen = SCENARIOS.filter(({ name }) => only.length === 0 || only.some((word) => isMeant(name, word)));
const unknown = only.some((word) => !chosen.some(({ name }) => isMeant(name, word)));
if (unknown || !(Number(values.rounds) > 0) || (smoke && write)) {
  const names = SCENARIOS.map(({ name }) => name).join(' | ');
  console.error(
    `usage: npm run bench -- [--smoke | --write] [--json] [--check] [--rounds 1] [--only <name>] | --render\nnames: ${names}, or what they begin with`,
  );
  process.exit(2);
}
if (render) {
  writePage();
  process.exit(0);
}

await installPeers(log);
const where = machine();
const today = new Date().toISOString().slice(0, 10);
const scale = smoke ? SMOKE : full(Number(values.rounds));
const tables: Record<string, Table> = {};
const failed: string[] = [];
log(`${where}\n`);
const left = chosen.filter(({ alike = false }) => !(smoke && alike && only.length === 0));
const lane = async (): Promise<void> => {
  for (let scenario = left.shift(); scenario; scenario = left.shift()) await run(scenario);
};
// Where no figure counts, two at a time do no harm.
await Promise.all(Array.from({ length: smoke ? 2 : 1 }, lane));
if (failed.length > 0) process.exitCode = 1;
if (json) console.log(JSON.stringify({ machine: where, smoke, tables, failed }, undefined, 2));
if (check && !isReached()) process.exitCode = 1;

async function run(scenario: Scenario): Promise<void> {
  const start = performance.now();
  try {
    const table = await runScenario(scenario, scale);
    tables[scenario.name] = table;
    if (write) keep(scenario.name, table);
    log(tableText(table));
    log(`(${scenario.name}: ${((performance.now() - start) / 1000).toFixed(1)} s)\n`);
  } catch (error) {
    failed.push(scenario.name);
    console.error(`FAILED: ${scenario.name}: ${error instanceof Error ? error.stack : String(error)}\n`);
  }
}

/** A word names one scenario, or those that begin with it. */
function isMeant(name: string, word: string): boolean {
  return name === word || name.startsWith(`${word}-`);
}

/** At once: what comes later may fail. */
function keep(name: string, table: Table): void {
  const command = ['npm run bench --', ...process.argv.slice(2)].join(' ');
  const run = `${today}, \`${command}\`, ${where}`;
  writeResults({ ...readResults(), [name]: { run, table } });
  writePage();
}

function isReached(): boolean {
  const all = chosen.flatMap((scenario) => {
    const table = tables[scenario.name];
    return table ? verdicts(scenario, table).map((verdict) => ({ name: scenario.name, ...verdict })) : [];
  });
  for (const { name, what, wanted, measured, met } of all) {
    const figure = measured === undefined ? 'nothing' : shortText(measured);
    log(`${met ? 'ok' : 'MISSED'}: ${name}: ${what} is ${figure} (target ${wanted})`);
  }
  if (all.length === 0) console.error('--check: none of these scenarios has a target');
  return all.length > 0 && all.every(({ met }) => met);
}
