import { toMs, type Duration } from './duration.js';
import { LockOptionsError } from './errors.js';
import { toTerms, type LockDefaults } from './lock.options.js';
import { toFailoverTerms, type FailoverOptions, type FailoverTerms } from './stores/failover/failover.options.js';
import type { FallbackStore } from './stores/failover/fallback-store.js';
import { runtimeOf } from './nest/store-runtime.js';
import type { Runtime } from './runtime.js';
import type { LockStore } from './stores/lock-store.js';
import type { RedisNodeEntry } from './stores/redis/redis-client.js';
import { checkNodes } from './stores/redis/redis.store.js';
import type { StoreSource } from './stores/store-source.js';

/** Options of `DistributedLockModule.forRoot()`. */
export interface DistributedLockModuleOptions {
  /**
   * The Redis nodes, each a URL, ioredis options, or an ioredis or iovalkey client of yours. One: a plain lock on that Redis (single, Sentinel or Cluster). Three or
   * more, an odd number, independent of each other: Redlock, which goes on while a majority is well. Default: `['redis://localhost:6379']`.
   */
  readonly nodes?: readonly RedisNodeEntry[];
  /** Any other store, in place of `nodes`: `postgres('postgres://…')`, or a `LockStore` such as `new MemoryStore()`. */
  readonly store?: LockStore | StoreSource;
  /** What stands in for `nodes` while they are out of reach: `postgres('postgres://…')` of `nestjs-fenced-lock/postgres`. docs/failover.md says what that promises. */
  readonly fallback?: StoreSource<FallbackStore>;
  /** How and when locks move to the `fallback` and back. */
  readonly failover?: FailoverOptions;
  /** What every lock of this manager starts from; an acquisition's own options come on top. */
  readonly defaults?: LockDefaults;
  /**
   * How long one node may take to answer before it counts as failed. Default: 50 ms with three or more nodes, 1 s with one; never more than a third of the ttl.
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
  /**
   * Whether to report to OpenTelemetry: a span for each guarded call, and metrics (docs/operations.md lists them). It needs `@opentelemetry/api`, and does nothing without an
   * SDK that is set up in your application. Default false, and then it costs nothing.
   */
  readonly telemetry?: boolean;
}

const DEFAULT_NODES: readonly RedisNodeEntry[] = ['redis://localhost:6379'];
const KNOWN = [
  'nodes',
  'store',
  'fallback',
  'failover',
  'defaults',
  'nodeTimeout',
  'quarantine',
  'shutdownTimeout',
  'telemetry',
];
const LEAST_NODE_TIMEOUT_MS = 1;

export interface Fallback {
  readonly source: StoreSource<FallbackStore>;
  readonly terms: FailoverTerms;
}

/** Checked module options, with what they leave open filled in. */
export interface LockModuleSettings {
  readonly source:
    | { readonly store: LockStore | StoreSource }
    | { readonly nodes: readonly RedisNodeEntry[]; readonly fallback: Fallback | undefined };
  readonly defaults: LockDefaults;
  readonly ttlMs: number;
  readonly nodeTimeout: Duration | undefined;
  readonly quarantine: Duration | undefined;
  readonly shutdownTimeoutMs: number | undefined;
  readonly telemetry: boolean;
  readonly runtime: Runtime;
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
  const {
    nodes = DEFAULT_NODES,
    store,
    fallback,
    defaults = {},
    nodeTimeout,
    quarantine,
    shutdownTimeout,
    telemetry = false,
  } = options;
  if (typeof telemetry !== 'boolean') throw new LockOptionsError('telemetry', telemetry, 'give true or false.');
  if (nodeTimeout !== undefined) toMs('nodeTimeout', nodeTimeout, LEAST_NODE_TIMEOUT_MS);
  if (quarantine !== undefined) toMs('quarantine', quarantine);
  if (store !== undefined) {
    for (const [name, value] of Object.entries({ nodes: options.nodes, nodeTimeout, quarantine, fallback })) {
      if (value === undefined) continue;
      throw new LockOptionsError(
        name,
        value,
        'it is for Redis nodes and cannot go with `store`; give one or the other.',
      );
    }
    checkStore(store);
  } else {
    checkNodes(nodes);
  }
  return {
    source: store ? { store } : { nodes, fallback: toFallback(fallback, options.failover) },
    defaults,
    ttlMs: toTerms(defaults).ttlMs,
    nodeTimeout,
    quarantine,
    telemetry,
    runtime: runtimeOf(store),
    shutdownTimeoutMs: shutdownTimeout === undefined ? undefined : toMs('shutdownTimeout', shutdownTimeout),
  };
}

function toFallback(
  source: StoreSource<FallbackStore> | undefined,
  failover: FailoverOptions | undefined,
): Fallback | undefined {
  if (source === undefined) {
    if (failover === undefined) return undefined;
    throw new LockOptionsError('failover', failover, 'it needs a `fallback`, such as postgres(…), to move locks to.');
  }
  if (typeof source?.open !== 'function') {
    throw new LockOptionsError('fallback', source, "give postgres('postgres://…') of nestjs-fenced-lock/postgres.");
  }
  return { source, terms: toFailoverTerms(failover) };
}

function checkStore(store: Partial<LockStore & StoreSource>): void {
  if (typeof store?.open === 'function') return;
  for (const verb of ['acquire', 'renew', 'release'] as const) {
    if (typeof store?.[verb] === 'function') continue;
    throw new LockOptionsError('store', store, `it has no ${verb}(); give a LockStore such as new MemoryStore().`);
  }
}
