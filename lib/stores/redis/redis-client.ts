/**
 * What is used of an ioredis or iovalkey client: single, Sentinel or Cluster. Structural, so that a client of any version type-checks.
 */
export interface RedisClient {
  readonly status: string;
  readonly isCluster?: boolean;
  readonly options?: { readonly host?: string | undefined; readonly port?: number | undefined } | object;
  evalsha(sha: string, keyCount: number, ...args: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...args: string[]): Promise<unknown>;
  script(subcommand: 'LOAD', text: string): Promise<unknown>;
  /** A second connection with the same options; without it nobody is told when a key comes free. */
  duplicate?(...args: any[]): unknown;
  /** Without it locks cannot be listed. */
  scan?(...args: any[]): Promise<any>;
  /** Without it nothing is known of the server, nor whether it is still reading its data. */
  info?(...sections: string[]): Promise<unknown>;
  /** Of a Cluster: how it is. */
  cluster?(subcommand: 'INFO'): Promise<unknown>;
  /** Of a Cluster: clients of its servers. */
  nodes?(role: 'master'): any;
  connect(): Promise<unknown>;
  quit(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
  on(event: string, listener: (...args: any[]) => void): unknown;
  off(event: string, listener: (...args: any[]) => void): unknown;
}

/** Options for a connection of our own, as ioredis takes them: host, port, username, password, tls, db, sentinels, name … */
export interface RedisNodeOptions {
  readonly host?: string;
  readonly port?: number;
  readonly [option: string]: unknown;
}

/** One Redis: a URL, connection options, or a client of the user's own (never closed by us). */
export type RedisNodeEntry = string | RedisNodeOptions | RedisClient;

export function isRedisClient(entry: RedisNodeEntry): entry is RedisClient {
  return typeof entry === 'object' && entry !== null && typeof entry.evalsha === 'function';
}
