import { ChildProcess } from '../test/support/child-process.js';
import { PostgresServer } from '../test/support/postgres-server.js';
import { startRedisNodes, stopAll } from '../test/support/redis-server.js';
import type { Scale } from './scale.js';
import type { Scenario, Setting } from './scenario.js';
import type { Table } from './table.js';

const LIMIT_MS = 3_600_000;

/** Starts what the scenario needs, runs it in a process of its own, and stops everything. */
export async function runScenario({ name, nodes = 0, postgres = false }: Scenario, scale: Scale): Promise<Table> {
  const redis = await startRedisNodes(nodes);
  let database: PostgresServer | undefined;
  let child: ChildProcess | undefined;
  try {
    if (postgres) database = await PostgresServer.start();
    const setting: Setting = { ...scale, urls: redis.map(({ url }) => url), postgresUrl: database?.url ?? '' };
    const file = new URL('./scenario-process.ts', import.meta.url);
    child = await ChildProcess.start(file, { args: [name, JSON.stringify(setting)] });
    return await child.next<Table>(undefined, LIMIT_MS);
  } finally {
    await child?.stop();
    await Promise.all([stopAll(redis), database?.stop()]);
  }
}
