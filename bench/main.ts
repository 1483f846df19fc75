/**
 * `npm run bench -- [--smoke] [--json] [--check] [--only <word>] [--rounds <factor>]`. Starts its own redis-servers. See docs/benchmarks.md.
 */
import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { startRedisNodes, stopAll } from '../test/support/redis-server.js';
import * as comparisons from './comparisons.js';
import { connectAll, disconnectAll } from './connections.js';
import type { Result } from './measure.js';
import { installPeers } from './peers.js';
import { machine, table } from './report.js';

/** How much longer than the bare pair a lock may take: one node, one at a time, median. */
const TARGET = 1.25;

const CASES: Record<string, (setting: comparisons.Setting) => Promise<Result>> = {
  lone: comparisons.lone,
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
const unknown = only.filter((name) => !(name in CASES));
if (unknown.length > 0 || !(Number(values.rounds) > 0)) {
  console.error(
    `usage: npm run bench -- [--smoke] [--json] [--check] [--rounds 1] [--only ${Object.keys(CASES).join(' | ')}]`,
  );
  process.exit(2);
}
const names = Object.keys(CASES).filter((name) => only.length === 0 || only.includes(name));
const log = (line: string): void => (json ? console.error(line) : console.log(line));

await installPeers(log);
const servers = await startRedisNodes(3);
try {
  const urls = servers.map(({ url }) => url);
  const where = machine(await redisVersion(urls));
  const scale = smoke ? { rounds: 0.01, operations: 0.05 } : { rounds: Number(values.rounds), operations: 1 };
  const results: Record<string, Result> = {};
  const skipped = new Set<string>();
  log(`${where}\n`);
  for (const name of names) {
    results[name] = await CASES[name]!({ urls, ...scale, skipped: (line) => skipped.add(line) });
    log(table(results[name]));
  }
  for (const line of skipped) log(`Left out: ${line}`);
  log('Left out: @nestjs/locks: not published');
  if (json) console.log(JSON.stringify({ machine: where, smoke, results, skipped: [...skipped] }, undefined, 2));
  if (check) process.exitCode = verdict(results['lone']);
} finally {
  await stopAll(servers);
}

function verdict(lone: Result | undefined): number {
  if (!lone) {
    console.error('--check needs the case "lone"');
    return 2;
  }
  const ours = lone.rows.filter(({ name }) => name.startsWith('nestjs-fenced-lock'));
  for (const { name, ratio } of ours) {
    log(`${ratio <= TARGET ? 'ok' : 'TOO SLOW'}: ${name} takes ${ratio.toFixed(3)} × the bare pair (target ${TARGET})`);
  }
  return ours.every(({ ratio }) => ratio <= TARGET) ? 0 : 1;
}

async function redisVersion(urls: readonly string[]): Promise<string> {
  const clients = await connectAll(urls.slice(0, 1));
  const info = await clients[0]!.info('server');
  await disconnectAll(clients);
  return /redis_version:(\S+)/.exec(info)?.[1] ?? 'of unknown version';
}
