/**
 * `npm run bench -- [--smoke] [--json] [--check] [--only <word>] [--rounds <factor>]`. Starts its own servers. See docs/benchmarks.md.
 */
import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { PostgresServer } from '../test/support/postgres-server.js';
import { startRedisNodes, stopAll } from '../test/support/redis-server.js';
import * as comparisons from './comparisons.js';
import type { Result } from './measure.js';
import { installPeers } from './peers.js';
import { postgresLone, postgresThroughput } from './postgres.js';
import { machine, table } from './report.js';
import { postgresVersion, redisVersion } from './versions.js';

/** How much longer than the bare way a lock may take, one at a time, median. */
const TARGETS: Record<string, number> = { lone: 1.25, 'postgres-lone': 1.3 };

const CASES: Record<string, (setting: comparisons.Setting) => Promise<Result>> = {
  lone: comparisons.lone,
  // Before the first case with an AsyncLocalStorage, which would slow it for good.
  'postgres-lone': postgresLone,
  'postgres-throughput': postgresThroughput,
  'lone-context': comparisons.loneWithContext,
  three: comparisons.three,
  'throughput-1': (setting) => comparisons.throughput(setting, 1),
  'throughput-3': (setting) => comparisons.throughput(setting, 3),
  contention: comparisons.contention,
  crowd: comparisons.crowd,
  memory: comparisons.memory,
};

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: '1' },
  },
});
const { smoke, json, check, only } = values;
const chosen = only.map((word) => Object.keys(CASES).filter((name) => isMeant(name, word)));
const unknown = chosen.some(({ length }) => length === 0);
if (unknown || !(Number(values.rounds) > 0)) {
  console.error(
    `usage: npm run bench -- [--smoke] [--json] [--check] [--rounds 1] [--only ${Object.keys(CASES).join(' | ')}]`,
  );
  process.exit(2);
}
const names = Object.keys(CASES).filter((name) => only.length === 0 || chosen.flat().includes(name));
const log = (line: string): void => (json ? console.error(line) : console.log(line));

const onPostgres = names.some((name) => name.startsWith('postgres-'));
const onRedis = names.some((name) => !name.startsWith('postgres-') && name !== 'memory');

if (onRedis) await installPeers(log);
const nodes = onRedis ? await startRedisNodes(3) : [];
const postgres = onPostgres ? await PostgresServer.start() : undefined;
try {
  const urls = nodes.map(({ url }) => url);
  const postgresUrl = postgres?.url ?? '';
  const versions: string[] = [];
  if (onRedis) versions.push(await redisVersion(urls[0]!));
  if (onPostgres) versions.push(await postgresVersion(postgresUrl));
  const where = machine(versions);
  const scale = smoke ? { rounds: 0.01, operations: 0.05 } : { rounds: Number(values.rounds), operations: 1 };
  const results: Record<string, Result> = {};
  const skipped = new Set<string>();
  log(`${where}\n`);
  for (const name of names) {
    results[name] = await CASES[name]!({ urls, postgresUrl, ...scale, skipped: (line) => skipped.add(line) });
    log(table(results[name]));
  }
  for (const line of skipped) log(`Left out: ${line}`);
  if (onRedis) log('Left out: @nestjs/locks: not published');
  if (json) console.log(JSON.stringify({ machine: where, smoke, results, skipped: [...skipped] }, undefined, 2));
  if (check) process.exitCode = verdict(results);
} finally {
  await Promise.all([stopAll(nodes), postgres?.stop()]);
}

/** A word names one case, or those that begin with it. */
function isMeant(name: string, word: string): boolean {
  return word in CASES ? name === word : name.startsWith(`${word}-`);
}

function verdict(results: Record<string, Result>): number {
  const checked = Object.keys(TARGETS).filter((name) => name in results);
  if (checked.length === 0) {
    console.error(`--check needs one of the cases ${Object.keys(TARGETS).join(', ')}`);
    return 2;
  }
  const verdicts = checked.flatMap((name) =>
    results[name]!.rows.filter((row) => row.name.startsWith('nestjs-fenced-lock')).map((row) => {
      const target = TARGETS[name]!;
      const ok = row.ratio <= target;
      log(
        `${ok ? 'ok' : 'TOO SLOW'}: ${name}: ${row.name} takes ${row.ratio.toFixed(3)} × the bare one (target ${target})`,
      );
      return ok;
    }),
  );
  return verdicts.every(Boolean) ? 0 : 1;
}
