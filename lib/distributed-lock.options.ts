import { toMs, type Duration } from './duration.js';
import { LockOptionsError } from './errors.js';
import { toTerms, type LockDefaults } from './lock.options.js';
import type { LockStore } from './stores/lock-store.js';

/** Options of `DistributedLockModule.forRoot()`. */
export interface DistributedLockModuleOptions {
  /**
   * The Redis nodes, each a URL, ioredis options, or an ioredis or iovalkey client of yours. One: a plain lock on that Redis (single, Sentinel or Cluster). Three or
   * more, an odd number, independent of each other: Redlock, which goes on while a majority is well. Default: `['redis://localhost:6379']`.
   */
  readonly nodes?: readonly RedisNode[];
  /** Any other store, in place of `nodes`. */
  readonly store?: LockStore;
  /** What every lock of this manager starts from; an acquisition's own options come on top. */
  readonly defaults?: LockDefaults;
  /**
   * How long one node may take to answer before it counts as failed. Default: 50 ms with three or more nodes; with one, a third of the ttl, at most 1 s.
   * Lower notices a dead node sooner; too low fails nodes that are only slow.
   */
  readonly nodeTimeout?: Duration;
  /**
   * How long a node that came back empty refuses new grants, so that nobody gets in while the holder it forgot goes on. Default: the ttl of `defaults` with three or more
   * nodes, 0 with one. Lower than the longest ttl in use leaves that gap open.
   */
  readonly quarantine?: Duration;
  /**
   * How long `app.close()` waits for work under locks before their signals abort. Default 10 s. Shorter cuts long jobs off; longer than what your
   * platform grants (30 s on Kubernetes by default) gets the process killed with its keys still taken.
   */
  readonly shutdownTimeout?: Duration;
}

/** A URL, ioredis options, or a client. Typed loosely here, so that any version of ioredis or iovalkey type-checks. */
export type RedisNode = string | object;

const DEFAULT_NODES: readonly RedisNode[] = ['redis://localhost:6379'];
const KNOWN = ['nodes', 'store', 'defaults', 'nodeTimeout', 'quarantine', 'shutdownTimeout'];
const DEFAULT_SHUTDOWN = '10s';
const LEAST_NODE_TIMEOUT_MS = 1;

/** Checked module options, with what they leave open filled in. */
export interface LockModuleSettings {
  readonly source: { readonly store: LockStore } | { readonly nodes: readonly RedisNode[] };
  readonly defaults: LockDefaults;
  readonly ttlMs: number;
  readonly nodeTimeout: Duration | undefined;
  readonly quarantine: Duration | undefined;
  readonly shutdownTimeoutMs: number;
}

/** @throws LockOptionsError naming the option, its value and what is accepted. */
export function toSettings(options: DistributedLockModuleOptions | undefined): LockModuleSettings {
  if (typeof options !== 'object' || options === null) {
    throw new LockOptionsError(
      'module options',
      options,
      "give an object such as { nodes: ['redis://localhost:6379'] }.",
    );
  }
  for (const name of Object.keys(options)) {
    if (!KNOWN.includes(name)) {
      const remedy = `known are ${KNOWN.join(', ')}; isGlobal and name go beside useFactory, not into its result.`;
      throw new LockOptionsError('module option', name, remedy);
    }
  }
  const { nodes, store, defaults = {}, nodeTimeout, quarantine, shutdownTimeout = DEFAULT_SHUTDOWN } = options;
  if (nodeTimeout !== undefined) toMs('nodeTimeout', nodeTimeout, LEAST_NODE_TIMEOUT_MS);
  if (quarantine !== undefined) toMs('quarantine', quarantine);
  if (store !== undefined) {
    for (const [name, value] of Object.entries({ nodes, nodeTimeout, quarantine })) {
      if (value === undefined) continue;
      throw new LockOptionsError(
        name,
        value,
        'it is for Redis nodes and cannot go with `store`; give one or the other.',
      );
    }
    checkStore(store);
  }
  return {
    source: store ? { store } : { nodes: checkedNodes(nodes ?? DEFAULT_NODES) },
    defaults,
    ttlMs: toTerms(defaults).ttlMs,
    nodeTimeout,
    quarantine,
    shutdownTimeoutMs: toMs('shutdownTimeout', shutdownTimeout),
  };
}

function checkStore(store: Partial<LockStore>): void {
  for (const verb of ['acquire', 'renew', 'release'] as const) {
    if (typeof store?.[verb] === 'function') continue;
    throw new LockOptionsError('store', store, `it has no ${verb}(); give a LockStore such as new MemoryStore().`);
  }
}

function checkedNodes(nodes: readonly RedisNode[]): readonly RedisNode[] {
  if (!Array.isArray(nodes) || nodes.length === 0) {
    throw new LockOptionsError('nodes', nodes, "give a list of at least one node, such as ['redis://localhost:6379'].");
  }
  if (nodes.length % 2 === 0) {
    const count = nodes.length;
    throw new LockOptionsError(
      'nodes',
      `${count} nodes`,
      count === 2
        ? 'a majority of two is both, so two nodes fail whenever one does, twice as often as one; give one or three.'
        : `${count} nodes survive no more failures than ${count - 1}, and there is one more to fail; give ${count - 1} or ${count + 1}.`,
    );
  }
  nodes.forEach((node: unknown, index) => {
    // A URL may carry a password: it is never shown.
    const place = `nodes[${index}]`;
    if (nodes.indexOf(node) !== index) {
      throw new LockOptionsError(place, typeof node, 'it is listed twice, and would be two votes of one Redis.');
    }
    if (typeof node === 'string' ? isRedisUrl(node) : typeof node === 'object' && node !== null) return;
    throw new LockOptionsError(
      place,
      typeof node,
      "give a URL such as 'redis://host:6379', ioredis options, or a client.",
    );
  });
  return nodes;
}

function isRedisUrl(text: string): boolean {
  return URL.canParse(text) && /^rediss?:$/.test(new URL(text).protocol);
}
