import { toMs, type Duration } from '../../duration.js';
import { LockOptionsError } from '../../errors.js';

/** The connection options of `pg` that are most in use; any other of its `ClientConfig` may be given as well. */
export interface PostgresConnectionOptions {
  readonly connectionString?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  /** A function is asked for each connection anew, for passwords that expire. */
  readonly password?: string | (() => string | Promise<string>) | undefined;
  readonly database?: string | undefined;
  readonly ssl?: boolean | object | undefined;
}

/** Options of `postgres(…)`; a URL alone stands for `{ connection: url }`. */
export interface PostgresOptions {
  /** A URL such as `postgres://user:password@host:5432/database`, or options of `pg`. The store opens a connection of its own with it, never a pool's. */
  readonly connection:
    string | PostgresConnectionOptions | (PostgresConnectionOptions & Readonly<Record<string, unknown>>);
  /**
   * How often the connection must show a sign of life. Default 2 s. A connection that broke without a word is noticed after this and `timeout`, and its locks count
   * as lost; lower notices sooner and costs more small queries.
   */
  readonly heartbeat?: Duration;
  /**
   * How long the server may take to answer anything before the connection counts as broken. Default 2 s. Lower notices sooner; too low takes a slow disk for a
   * broken connection, and every lock on it is lost.
   */
  readonly timeout?: Duration;
  /**
   * How long a process may be silent, frozen or cut off, before the server ends its session and frees its keys. Default 30 s; never less than the longest ttl that was
   * asked for. Lower frees a dead machine's keys sooner, and forgives shorter pauses.
   */
  readonly sessionTimeout?: Duration;
  /**
   * Default 'session': one connection for all locks. 'transaction', for a proxy that pools by transaction: each lock is a transaction of its own on a connection of its own; it costs three
   * round trips, wakes nobody, and cannot be the `fallback` of Redis.
   */
  readonly mode?: 'session' | 'transaction';
  /** With `mode: 'transaction'`, how many locks can be held at once. Default 10. Each takes one of the proxy's backends for as long as it is held. */
  readonly connections?: number;
  /** Whether missing tables are made at the first connection. Default true. With false, run `schemaSql()` as a migration; the role then needs no CREATE. */
  readonly createTables?: boolean;
}

/** Checked options, with what they leave open filled in. */
export interface PostgresSettings {
  readonly connection: PostgresConnectionOptions;
  readonly heartbeatMs: number;
  readonly timeoutMs: number;
  readonly sessionTimeoutMs: number;
  readonly createTables: boolean;
  readonly mode: 'session' | 'transaction';
  readonly connections: number;
}

const CONNECTIONS = 10;
const KNOWN = ['connection', 'heartbeat', 'timeout', 'sessionTimeout', 'mode', 'connections', 'createTables'];
const HEARTBEAT = '2s';
const TIMEOUT = '2s';
const SESSION_TIMEOUT = '30s';
const LEAST_MS = 10;
/** The server counts an idle session in a 32-bit number of ms. */
const LONGEST_MS = 2 ** 31 - 1;

/** @throws LockOptionsError naming the option, its value and what is accepted. */
export function toPostgresSettings(given: string | PostgresOptions): PostgresSettings {
  const options: Partial<PostgresOptions> = typeof given === 'string' ? { connection: given } : given;
  if (typeof options !== 'object' || options === null) {
    throw new LockOptionsError('postgres', given, "give a URL, or an object such as { connection: 'postgres://…' }.");
  }
  for (const name of Object.keys(options)) {
    if (!KNOWN.includes(name)) {
      const remedy = `known are ${KNOWN.join(', ')}; host, user and the like go into \`connection\`.`;
      throw new LockOptionsError('postgres option', name, remedy);
    }
  }
  const heartbeatMs = toMs('heartbeat', options.heartbeat ?? HEARTBEAT, LEAST_MS);
  const timeoutMs = toMs('timeout', options.timeout ?? TIMEOUT, LEAST_MS);
  const sessionTimeoutMs = toMs('sessionTimeout', options.sessionTimeout ?? SESSION_TIMEOUT, LEAST_MS);
  if (sessionTimeoutMs < heartbeatMs + timeoutMs) {
    const remedy = `the client must give up first, so it must be at least \`heartbeat\` and \`timeout\` together (${heartbeatMs + timeoutMs} ms).`;
    throw new LockOptionsError('sessionTimeout', options.sessionTimeout, remedy);
  }
  const { createTables = true } = options;
  if (typeof createTables !== 'boolean') {
    throw new LockOptionsError('createTables', createTables, 'give true or false.');
  }
  const { mode = 'session', connections = CONNECTIONS } = options;
  if (mode !== 'session' && mode !== 'transaction') {
    throw new LockOptionsError('mode', mode, "give 'session' or 'transaction'.");
  }
  if (options.connections !== undefined && mode === 'session') {
    throw new LockOptionsError(
      'connections',
      connections,
      "it goes with `mode: 'transaction'`; a session holds any number of locks.",
    );
  }
  if (!Number.isSafeInteger(connections) || connections < 1) {
    throw new LockOptionsError('connections', connections, 'give a whole number of at least 1.');
  }
  const connection = checkedConnection(options.connection);
  return { connection, heartbeatMs, timeoutMs, sessionTimeoutMs, createTables, mode, connections };
}

/** For how long a session may be idle if a lock of this ttl is on it: the holder's lease is over first, and the client has noticed first that it is cut off. */
export function idleLimitMs(settings: PostgresSettings, ttlMs: number): number {
  const { sessionTimeoutMs, heartbeatMs, timeoutMs } = settings;
  return Math.min(LONGEST_MS, Math.ceil(Math.max(sessionTimeoutMs, ttlMs)) + heartbeatMs + timeoutMs);
}

function checkedConnection(connection: unknown): PostgresConnectionOptions {
  if (typeof connection === 'string') {
    if (/^(postgres|postgresql|socket):/.test(connection)) return { connectionString: connection };
    throw new LockOptionsError(
      'connection',
      'text',
      "it is no URL such as 'postgres://user:password@host:5432/database'.",
    );
  }
  if (typeof connection !== 'object' || connection === null || Array.isArray(connection)) {
    throw new LockOptionsError(
      'connection',
      connection,
      "give a URL such as 'postgres://host/database', or pg options.",
    );
  }
  if ('query' in connection) {
    const remedy =
      'give a URL or options, not a client or a pool: locks live as long as their connection, and must not wait for one.';
    throw new LockOptionsError('connection', connection, remedy);
  }
  return connection;
}
