import { Redis, type RedisOptions } from 'ioredis';
import type { Lock } from '../../lib/lock.js';
import { LockManager } from '../../lib/lock-manager.js';
import { connectRedis } from '../../lib/stores/redis/redis.store.js';
import type { RedisNodeEntry } from '../../lib/stores/redis/redis-client.js';
import { eventually } from '../support/eventually.js';
import { LOGIN } from '../support/least-user.js';
import { type RedisServer, startRedisNodes, stopAll } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';

export interface PodOptions {
  nodes: readonly RedisNodeEntry[];
  nodeTimeout?: string;
  /** Default 0: a fresh node votes at once. */
  quarantine?: string | 0;
  log?: (message: string) => void;
}

type Client = Pick<Redis, 'disconnect'>;

/** What the tests of one file share: servers that live as long as the file, and pods, proxies and clients that end with each test. */
export class Lab {
  private servers: RedisServer[] = [];
  private pods: LockManager[] = [];
  private proxies: TcpProxy[] = [];
  private clients: Client[] = [];
  private keys = 0;

  async start(count: number, ...args: string[]): Promise<RedisServer[]> {
    const started = await startRedisNodes(count, { args });
    this.servers.push(...started);
    return started;
  }

  /** A key that no other test has used. */
  key(name = 'key'): string {
    return `${name}:${++this.keys}`;
  }

  /** A lock manager with connections of its own, as in a process of its own. */
  async pod({ nodes, nodeTimeout = '2s', quarantine = 0, log }: PodOptions): Promise<LockManager> {
    const store = await connectRedis({ nodes, ttlMs: 30_000, nodeTimeout, quarantine, ...(log && { log }) });
    const pod = new LockManager(store, log ? { log: { warn: log } } : {});
    return this.adopt(pod);
  }

  /** Shut down after the test. */
  adopt(pod: LockManager): LockManager {
    this.pods.push(pod);
    return pod;
  }

  async proxy(...servers: RedisServer[]): Promise<TcpProxy[]> {
    const proxies = await Promise.all(servers.map(({ port }) => TcpProxy.start(port)));
    this.proxies.push(...proxies);
    return proxies;
  }

  /** Closed after the test. */
  keep<C extends Client>(client: C): C {
    this.clients.push(client);
    return client;
  }

  /** After each test: everybody goes, and the servers are well again. */
  async tidy(): Promise<void> {
    for (const server of this.servers) server.thaw();
    await Promise.all(this.servers.map(async (server) => server.running || server.restart()));
    await Promise.all(this.pods.splice(0).map(async (pod) => pod.shutdown(1000)));
    for (const client of this.clients.splice(0)) client.disconnect();
    await Promise.all(this.proxies.splice(0).map(async (proxy) => proxy.close()));
  }

  async end(): Promise<void> {
    await this.tidy();
    await stopAll(this.servers.splice(0));
  }
}

export function urls(nodes: readonly { readonly port: number }[]): string[] {
  return nodes.map((node) => `redis://${LOGIN}${address(node)}`);
}

/** `host:port`, as errors name it. */
export function address(node: { readonly port: number }): string {
  return `127.0.0.1:${node.port}`;
}

/** Runs commands on a server through a connection of its own. */
export async function on<T>(
  { port }: { readonly port: number },
  work: (redis: Redis) => Promise<T>,
  options: Pick<RedisOptions, 'username' | 'password' | 'enableReadyCheck'> = {},
): Promise<T> {
  const redis = new Redis(port, '127.0.0.1', { ...options, lazyConnect: true, retryStrategy: null });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

export function lockName(key: string): string {
  return `lock:{${key}}`;
}

export function fenceName(key: string): string {
  return `lock:{${key}}:fence`;
}

/** Who has the key on each node; null where nobody does. */
export async function owners(servers: readonly RedisServer[], key: string): Promise<(string | null)[]> {
  return Promise.all(servers.map((server) => on(server, (redis) => redis.get(lockName(key)))));
}

/** The key's fence on each node; null where the key was never granted. */
export async function fences(servers: readonly RedisServer[], key: string): Promise<(number | null)[]> {
  const texts = await Promise.all(servers.map((server) => on(server, (redis) => redis.get(fenceName(key)))));
  return texts.map((text) => (text === null ? null : Number(text)));
}

export async function pttls(servers: readonly RedisServer[], key: string): Promise<number[]> {
  return Promise.all(servers.map((server) => on(server, (redis) => redis.pttl(lockName(key)))));
}

/** Resolves once the lock's watchdog, or somebody else, has renewed it. */
export async function renewed(lock: Lock): Promise<void> {
  let last = lock.remaining;
  await eventually(() => {
    const before = last;
    last = lock.remaining;
    if (last <= before) throw new Error(`Not renewed: ${last} ms remain`);
  });
}

/** Settles with when, on this process's monotonic clock, the signal aborted. */
export function abortedAt(signal: AbortSignal): Promise<number> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(performance.now()), { once: true });
  });
}
