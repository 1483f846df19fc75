import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { findPostgresBin, findRedisServer } from '../scripts/find-servers.mjs';

const GB = 2 ** 30;
const require = createRequire(import.meta.url);

/** What the figures were measured on. */
export function machine(): string {
  const [cpu] = cpus();
  const postgres = findPostgresBin();
  return [
    `${cpus().length} × ${cpu?.model.trim() ?? 'unknown CPU'}`,
    `${Math.round(totalmem() / GB)} GB`,
    `load ${loadavg()[0]!.toFixed(1)} at the start`,
    `Node ${process.version.slice(1)}`,
    `ioredis ${versionOf('ioredis')}`,
    `pg ${versionOf('pg')}`,
    `Redis ${reported(findRedisServer(), /v=(\S+)/)}`,
    `PostgreSQL ${reported(postgres && join(postgres, 'postgres'), /(\d+\.\d+)/)} (fsync off), all on loopback`,
  ].join(', ');
}

function versionOf(name: string): string {
  return (require(`${name}/package.json`) as { version: string }).version;
}

function reported(binary: string | undefined, version: RegExp): string {
  const { stdout = '' } = binary ? spawnSync(binary, ['--version'], { encoding: 'utf8' }) : {};
  return version.exec(stdout)?.[1] ?? 'of unknown version';
}
