import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.mjs';
import { createCluster, POSTGRES_READY, postgresUrl } from './postgres-cluster.mjs';
import { removeFolder, startServer } from './server-process.mjs';

/**
 * A PostgreSQL on a free loopback port, with a database cluster that is gone when it has stopped.
 * @returns {Promise<{ url: string, stop(): Promise<void> }>}
 */
export async function startPostgres() {
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'));
  try {
    const { command, argsFor, options } = await createCluster(folder);
    const port = await freePort();
    const server = await startServer({ command, args: argsFor(port), folder, options, readyWhen: POSTGRES_READY });
    return {
      url: postgresUrl(port),
      stop: async () => {
        // An orderly end that waits for no client.
        await server.stop('SIGINT');
        await removeFolder(folder);
      },
    };
  } catch (error) {
    await removeFolder(folder);
    throw error;
  }
}
