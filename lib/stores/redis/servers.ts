import type { RedisClient } from './redis-client.js';

/** One server that a client leads to: a lone Redis, or a primary of a Cluster. */
export interface Server {
  readonly options?: object;
  eval(script: string, keyCount: number, ...args: string[]): Promise<unknown>;
  evalsha(sha: string, keyCount: number, ...args: string[]): Promise<unknown>;
  info?(): Promise<unknown>;
  scan?(cursor: string, ...args: string[]): Promise<[string, string[]]>;
}

/** Always in the same order, as long as a Cluster does not change. */
export function serversOf(client: RedisClient): Server[] {
  if (!client.isCluster) return [client as unknown as Server];
  const primaries = (client.nodes?.('master') ?? []) as Server[];
  return [...primaries].sort((one, other) => (addressOf(one) < addressOf(other) ? -1 : 1));
}

function addressOf({ options }: Server): string {
  const { host = '', port = '' } = (options ?? {}) as { host?: string; port?: number };
  return `${host}:${port}`;
}
