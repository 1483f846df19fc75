import { LockOptionsError } from '../../errors.js';
import type { Timers } from '../../runtime.js';
import { inTime } from './in-time.js';
import { isRedisClient, type RedisClient, type RedisNodeEntry } from './redis-client.js';
import { reason } from './script-answer.js';

export interface Connection {
  readonly client: RedisClient;
  /** Where it leads, without credentials. */
  readonly name: string;
  /** Whether we made it, and so close it. */
  readonly own: boolean;
}

type ClientClass = new (...args: [string, object] | [object]) => RedisClient;

/** A node that comes back is of use, and its quarantine begins, when it is reached; a refused connection costs next to nothing. */
const LONGEST_RECONNECT_MS = 300;

const LONGEST_GOODBYE_MS = 500;

/** What a lock needs of a connection. It wins over the user's options: a lock command that is sent later than asked does harm. */
const SAFE = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  lazyConnect: false,
};

/** Sensible where the user says nothing. */
const DEFAULTS = {
  connectionName: 'nestjs-fenced-lock',
  connectTimeout: 2000,
  // Closing a connection that is already broken keeps the process alive for this long.
  disconnectTimeout: 500,
  keepAlive: 10_000,
  retryStrategy: (attempt: number): number => Math.min(LONGEST_RECONNECT_MS, 50 * 2 ** Math.min(attempt, 10)),
  // Of Sentinels: told by them, it leaves a primary that has been replaced at once. It learns of that only seconds later.
  failoverDetector: true,
  // After a failover a connection may still lead to what is now a replica.
  reconnectOnError: (error: Error): boolean => reason(error).startsWith('READONLY'),
  // The client asks now and then whether a node that is up has read its data.
  maxLoadingRetryTime: LONGEST_RECONNECT_MS,
};

/**
 * Opens a connection for a URL or options, or takes the user's client as it is.
 * @throws LockOptionsError when neither ioredis nor iovalkey is installed.
 */
export async function connect(entry: RedisNodeEntry, index: number): Promise<Connection> {
  if (isRedisClient(entry)) return { client: entry, name: nameOf(entry, index), own: false };
  const Client = await clientClass(entry);
  const own = (client: RedisClient, name: string): Connection => {
    // From its first moment: an error may come before the node is there that listens.
    client.on('error', () => undefined);
    return { client, name, own: true };
  };
  if (typeof entry === 'string') return own(new Client(entry, { ...DEFAULTS, ...SAFE }), new URL(entry).host);
  return own(new Client({ ...DEFAULTS, ...entry, ...SAFE }), address(entry, index));
}

/** Ends it once the server has said goodbye, or soon. */
export async function quit(client: RedisClient, timers: Timers): Promise<void> {
  await inTime(client.quit(), LONGEST_GOODBYE_MS, timers).catch(() => undefined);
}

async function clientClass(entry: RedisNodeEntry): Promise<ClientClass> {
  const loaded = await loadClient();
  if (loaded) return (loaded as unknown as { Redis: ClientClass }).Redis;
  throw new LockOptionsError(
    'nodes',
    typeof entry === 'string' ? new URL(entry).host : entry,
    'connecting needs a Redis client: `npm install ioredis`, or hand in a client of your own.',
  );
}

/** Each `import()` right inside a `try`, or bundlers would take a package that is not there for a mistake. */
async function loadClient(): Promise<object | undefined> {
  try {
    return await import('ioredis');
  } catch {
    try {
      return await import('iovalkey');
    } catch {
      return undefined;
    }
  }
}

interface Place {
  readonly host?: unknown;
  readonly port?: unknown;
}

/** Of a Cluster, where it begins to look for the servers. */
function nameOf(client: RedisClient, index: number): string {
  if (!client.isCluster) return address(client.options, index);
  const [first] = (client as { startupNodes?: readonly unknown[] }).startupNodes ?? [];
  if (typeof first === 'object') return `cluster of ${address(first, index)}`;
  const url = typeof first === 'string' && URL.canParse(first) ? new URL(first) : undefined;
  return url?.host ? `cluster of ${url.host}` : `node ${index + 1}`;
}

/** Behind Sentinels it moves, so it is known by its name. */
function address(options: object | null | undefined, index: number): string {
  const { host, port, sentinels, name } = (options ?? {}) as Place & { sentinels?: Place[] | null; name?: unknown };
  if (sentinels?.[0]) return `${String(name)} of sentinel ${address(sentinels[0], index)}`;
  if (typeof host !== 'string' && typeof port !== 'number') return `node ${index + 1}`;
  return `${typeof host === 'string' ? host : 'localhost'}:${typeof port === 'number' ? port : 6379}`;
}
