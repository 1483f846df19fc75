import type { Server } from './servers.js';

/** What a server says of itself. A field that it leaves out, as services that only resemble Redis may do, is not held against it. */
export interface ServerFacts {
  /** Another one for each process of a server. */
  readonly runId?: string | undefined;
  readonly version?: string | undefined;
  readonly evictionPolicy?: string | undefined;
  /** Whether it is a member of a Cluster. */
  readonly inCluster: boolean;
}

/** Services that hide it give zeros. */
const RUN_ID = /^(?!0+$)[0-9a-f]{40}$/;

/** Nothing where it does not tell: without the right to ask, there is nothing to be said against it either. */
export async function factsOf(server: Server): Promise<ServerFacts> {
  const told = await server.info?.().catch(() => undefined);
  const info = typeof told === 'string' ? told : '';
  const runId = field(info, 'run_id');
  return {
    runId: runId !== undefined && RUN_ID.test(runId) ? runId : undefined,
    version: field(info, 'redis_version'),
    evictionPolicy: field(info, 'maxmemory_policy'),
    inCluster: field(info, 'cluster_enabled') === '1',
  };
}

/** What the scripts need: `SET … GET`. */
export const OLDEST_VERSION = '6.2';

export function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_VERSION.split('.').map(Number);
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}

function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:([^\\r\\n]+)`, 'm').exec(info)?.[1];
}
