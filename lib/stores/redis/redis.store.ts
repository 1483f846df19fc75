import { toMs, type Duration } from '../../duration.js';
import { LockOptionsError } from '../../errors.js';
import { systemRuntime, type Runtime } from '../../runtime.js';
import { isRedisClient, type RedisClient, type RedisNodeEntry } from './redis-client.js';
import type { RedlockStore } from './redlock.store.js';

/** Of a store on Redis that is opened without the module. */
export interface RedisStoreOptions {
  /** One node: a plain lock on it. Three or more, an odd number: Redlock over independent nodes. */
  readonly nodes: readonly RedisNodeEntry[];
  /**
   * How long one node may take before it counts as failed for this request. Default 50 ms with three nodes or more; with one, 1 s. Never more than a third of
   * the ttl. Raising it makes a hung node cost more, lowering it makes a slow network look like an outage.
   */
  readonly nodeTimeout?: Duration;
  /**
   * How long a node that came up empty gives out no locks, since it may have forgotten some. Default: the module's ttl with three nodes or more, 0 with one.
   * Lower lets a second holder in after a node lost its data; higher keeps such a node, and a new deployment, waiting longer.
   */
  readonly quarantine?: Duration;
  /** The ttl locks usually have, in ms. */
  readonly ttlMs: number;
  /** For what somebody should act on. Default: nowhere. */
  readonly log?: (message: string) => void;
}

const NODE_TIMEOUT_MS = 50;
const LONE_NODE_TIMEOUT_MS = 1000;
/** How long a fence outlives its last lock. A clock-shaped token needs it only while clients' clocks disagree, so a day is ample. */
const FENCE_RETENTION_MS = 86_400_000;
/** How long start-up waits for connections before it goes on without them. */
const CONNECT_LIMIT_MS = 2000;

/**
 * Opens the connections and waits, for up to 2 s, until they are ready. Nodes out of reach are logged, and join when they come up.
 * @throws LockOptionsError
 */
export async function connectRedis(
  options: RedisStoreOptions,
  runtime: Runtime = systemRuntime,
): Promise<RedlockStore> {
  checkNodes(options.nodes);
  const lone = options.nodes.length === 1;
  const nodeTimeoutMs = toMsOr('nodeTimeout', options.nodeTimeout, 1, lone ? LONE_NODE_TIMEOUT_MS : NODE_TIMEOUT_MS);
  const quarantineMs = toMsOr('quarantine', options.quarantine, 0, lone ? 0 : options.ttlMs);
  const log = options.log ?? ((): void => undefined);
  for (const node of options.nodes) if (isRedisClient(node) && node.isCluster) checkCluster(node, quarantineMs);
  // On demand, so that applications with another store, and unit tests, do not load it all.
  const { connect } = await import('./connection.js');
  const { RedisNode } = await import('./redis-node.js');
  const { RedlockStore: Store } = await import('./redlock.store.js');
  const { RollCall } = await import('./roll-call.js');
  const connections = await Promise.all(options.nodes.map(connect));
  const rollCall = new RollCall(log, runtime);
  const nodes = connections.map(({ client, name, own }) => {
    const fitness = rollCall.enlist(client, name, quarantineMs > 0);
    const terms = { name, own, retentionMs: FENCE_RETENTION_MS, quarantineMs, log, fitness };
    return new RedisNode(client, terms, runtime.timers);
  });
  await Promise.all(nodes.map((node) => node.whenReady(CONNECT_LIMIT_MS)));
  try {
    await rollCall.check();
  } catch (error) {
    await Promise.all(nodes.map((node) => node.close()));
    throw error;
  }
  return new Store(nodes, { nodeTimeoutMs, quarantineMs, log }, runtime);
}

/** @throws LockOptionsError for a list of nodes that cannot be locked on. */
export function checkNodes(nodes: readonly RedisNodeEntry[]): void {
  if (!Array.isArray(nodes) || nodes.length === 0) {
    throw new LockOptionsError('nodes', nodes, "give at least one Redis, such as ['redis://localhost:6379'].");
  }
  if (nodes.length % 2 === 0) {
    throw new LockOptionsError(
      'nodes',
      `${nodes.length} nodes`,
      'a majority of an even number survives no more failures than with one node less. Give one node, or three, or five.',
    );
  }
  const seen = new Set<RedisNodeEntry>();
  for (const node of nodes as readonly RedisNodeEntry[]) {
    checkNode(node);
    if (seen.has(node))
      throw new LockOptionsError('nodes', withoutSecrets(node), 'it is listed twice, and would vote twice.');
    seen.add(node);
  }
}

function checkNode(node: RedisNodeEntry): void {
  if (typeof node === 'string') {
    if (URL.canParse(node) && /^rediss?:$/.test(new URL(node).protocol)) return;
  } else if (typeof node === 'object' && node !== null && !Array.isArray(node)) {
    if (isRedisClient(node) || !('evalsha' in node)) return;
  }
  throw new LockOptionsError(
    'nodes',
    withoutSecrets(node),
    "give a URL such as 'redis://host:6379', ioredis options, or a client.",
  );
}

/** All that belongs to a key must be in one slot; a node's marker would be in another. */
function checkCluster({ options }: RedisClient, quarantineMs: number): void {
  if (quarantineMs > 0) {
    throw new LockOptionsError(
      'quarantine',
      `${quarantineMs} ms`,
      'a Cluster cannot have one, so with a Cluster among the nodes give `quarantine: 0`, and keep its servers from coming back empty.',
    );
  }
  const { keyPrefix = '' } = (options ?? {}) as { keyPrefix?: string | Buffer };
  if (!/^[^{]*\{\}/.test(keyPrefix.toString())) return;
  const remedy = 'with {} in it the lock of a key and its fence are in different slots of a Cluster; take that out.';
  throw new LockOptionsError('keyPrefix', keyPrefix.toString(), remedy);
}

/** A URL may carry a password, and the error may be logged. */
function withoutSecrets(node: unknown): unknown {
  if (typeof node !== 'string') return node;
  const from = node.indexOf('//');
  const to = node.lastIndexOf('@');
  const shown = from >= 0 && to > from ? `${node.slice(0, from)}//…${node.slice(to)}` : node;
  return shown.split('?', 1)[0];
}

function toMsOr(option: string, value: Duration | undefined, leastMs: number, fallbackMs: number): number {
  return value === undefined ? fallbackMs : toMs(option, value, leastMs);
}
