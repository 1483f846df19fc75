import pg from 'pg';
import { connectAll, disconnectAll } from './connections.js';

export async function redisVersion(url: string): Promise<string> {
  const clients = await connectAll([url]);
  const info = await clients[0]!.info('server');
  await disconnectAll(clients);
  return `Redis ${/redis_version:(\S+)/.exec(info)?.[1] ?? 'of unknown version'} on loopback`;
}

/** With the setting that decides what a commit costs. */
export async function postgresVersion(url: string): Promise<string> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ version: string; fsync: string; synchronous_commit: string }>(
    `select split_part(current_setting('server_version'), ' ', 1) as version,
       current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit`,
  );
  await client.end();
  const { version, fsync, synchronous_commit } = rows[0]!;
  return `PostgreSQL ${version} on loopback (fsync ${fsync}, synchronous_commit ${synchronous_commit})`;
}
