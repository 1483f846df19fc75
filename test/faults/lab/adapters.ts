import type { OpenLocks } from './adapter.js';
import {
  countsFromReply,
  countsTokens,
  deafToLoss,
  releasesAnyones,
  revives,
  unawareOfPauses,
} from './adapters/broken.js';
import { noLock } from './adapters/control.js';
import { onPostgres, onRedis, withFallback, withoutQuarantine } from './adapters/ours.js';
import { redisSemaphore, redlock5, redlockUniversal, sesamecare } from './adapters/peers.js';

/** What a library needs of the stage. */
export type Backend = 'redis' | 'lone redis' | 'postgres' | 'both' | 'none';

export interface Adapter {
  readonly id: string;
  /** As the page says it. */
  readonly name: string;
  readonly role: 'ours' | 'peer' | 'control' | 'broken';
  readonly backend: Backend;
  readonly nodes: number;
  readonly open: OpenLocks;
  /** When a held lock is first renewed, in ms. */
  readonly renewsAfterMs: number;
  /** How long a node that came back empty grants nothing, in ms. */
  readonly quarantineMs: number;
  /** The npm package, if it is a peer. */
  readonly package?: string;
  /** The fault in which the lab must find out, if it is broken on purpose. */
  readonly caughtBy?: string;
}

export const TTL_MS = 2000;
const peer = { role: 'peer', backend: 'redis', nodes: 3, quarantineMs: 0 } as const;
const ours = { role: 'ours', renewsAfterMs: TTL_MS / 3, quarantineMs: TTL_MS } as const;

const broken = { ...ours, role: 'broken', backend: 'redis', nodes: 3 } as const;

/** Ours, each with one invariant switched off. */
const BROKEN: readonly Adapter[] = [
  {
    ...{ ...broken, id: 'no-quarantine', name: 'empty nodes vote at once (quarantine: 0)', caughtBy: 'flushall' },
    ...{ open: withoutQuarantine, quarantineMs: 0 },
  },
  {
    ...{ ...broken, id: 'deaf-to-loss', name: 'a renewal that was refused counts', caughtBy: 'flushall' },
    open: deafToLoss,
  },
  {
    ...{ ...broken, id: 'counts-tokens', name: 'tokens are counted on each node', caughtBy: 'flushall' },
    open: countsTokens,
  },
  {
    ...{ ...broken, id: 'unaware-of-pauses', name: 'the lease counts only time awake', caughtBy: 'pause' },
    open: unawareOfPauses,
  },
  {
    ...{ ...broken, id: 'releases-anyones', name: 'a release does not ask whose key it is', caughtBy: 'pause' },
    open: releasesAnyones,
  },
  {
    ...{ ...broken, id: 'revives', name: 'something puts the key back after the release', caughtBy: 'release-race' },
    open: revives,
  },
  {
    ...{ ...broken, id: 'counts-from-reply', name: 'the lease counts from the reply', caughtBy: 'slow-then-cut' },
    ...{ open: countsFromReply, backend: 'lone redis', nodes: 1, quarantineMs: 0 },
  },
];

export const ADAPTERS: readonly Adapter[] = [
  { ...ours, id: 'ours-3', name: 'ours, 3 nodes', backend: 'redis', nodes: 3, open: onRedis },
  { ...ours, id: 'ours-5', name: 'ours, 5 nodes', backend: 'redis', nodes: 5, open: onRedis },
  { ...ours, id: 'ours-1', name: 'ours, 1 node', backend: 'lone redis', nodes: 1, open: onRedis, quarantineMs: 0 },
  { ...ours, id: 'ours-pg', name: 'ours, Postgres', backend: 'postgres', nodes: 0, open: onPostgres, quarantineMs: 0 },
  { ...ours, id: 'ours-fallback', name: 'ours, 3 nodes and fallback', backend: 'both', nodes: 3, open: withFallback },
  // When they renew: half a second before the end; at 80 % of the ttl.
  { ...peer, id: 'redlock', name: 'redlock 5.0.0-beta.2', package: 'redlock5', open: redlock5, renewsAfterMs: 1478 },
  {
    ...{ ...peer, id: 'sesamecare', name: '@sesamecare-oss/redlock 1.4.0', package: '@sesamecare-oss/redlock' },
    ...{ open: sesamecare, renewsAfterMs: 1478 },
  },
  {
    ...{ ...peer, id: 'redis-semaphore', name: 'redis-semaphore 5.8.0', package: 'redis-semaphore' },
    ...{ open: redisSemaphore, renewsAfterMs: 1600 },
  },
  {
    ...{ ...peer, id: 'redlock-universal', name: 'redlock-universal 0.8.5', package: 'redlock-universal' },
    ...{ open: redlockUniversal, renewsAfterMs: 1600 },
  },
  {
    ...{ id: 'no-lock', name: 'no lock', role: 'control', backend: 'none', nodes: 0 },
    ...{ open: noLock, renewsAfterMs: TTL_MS / 3, quarantineMs: 0, caughtBy: 'kill' },
  },
  ...BROKEN,
];

export function adapterOf(id: string): Adapter {
  const found = ADAPTERS.find((adapter) => adapter.id === id);
  if (!found) throw new Error(`no adapter is called ${id}; known are ${ADAPTERS.map((one) => one.id).join(', ')}`);
  return found;
}
