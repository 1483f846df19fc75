import { LockOptionsError } from '../../errors.js';
import { isRedisClient, type RedisClient, type RedisNodeEntry } from './redis-client.js';

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
  // After a failover a connection may still lead to what is now a replica.
  reconnectOnError: (error: Error): boolean => error.message.startsWith('READONLY'),
};

/**
 * Opens a connection for a URL or options, or takes the user's client as it is.
 * @throws LockOptionsError when neither ioredis nor iovalkey is installed.
 */
export async function connect(entry: RedisNodeEntry, index: number): Promise<Connection> {
  if (isRedisClient(entry)) return { client: entry, name: address(entry.options, index), own: false };
  const Client = await clientClass(entry);
  const own = (client: RedisClient, name: string): Connection => {
    // From its first moment: an error may come before the node is there that listens.
    client.on('error', () => undefined);
    return { client, name, own: true };
  };
  if (typeof entry === 'string') return own(new Client(entry, { ...DEFAULTS, ...SAFE }), new URL(entry).host);
  return own(new Client({ ...DEFAULTS, ...entry, ...SAFE }), address(entry, index));
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

function address(options: object | undefined, index: number): string {
  const { host, port } = (options ?? {}) as { host?: unknown; port?: unknown };
  if (typeof host !== 'string' && typeof port !== 'number') return `node ${index + 1}`;
  return `${typeof host === 'string' ? host : 'localhost'}:${typeof port === 'number' ? port : 6379}`;
}
