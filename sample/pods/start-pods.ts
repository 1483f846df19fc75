import { setTimeout } from 'node:timers/promises';
import { MemoryStore, type AuthorityChange } from 'nestjs-fenced-lock';
import type { Database } from '../database/database.js';
import type { Journal } from '../shop/journal.js';
import { BrokenStore } from '../stores/broken.store.js';
import { startLocalPod } from './local-pod.js';
import type { Pod } from './pod.js';
import { startProcessPod } from './process-pod.js';

/** What all pods of a run share. */
export interface PodsOptions {
  readonly redisNodes: readonly string[];
  readonly breakLock: boolean;
  readonly database: Database;
  readonly databaseUrl: string | undefined;
  readonly partnersUrl: string;
  /** Ends the wait for readiness. */
  readonly signal: AbortSignal;
  /** Told of each pod as soon as it runs, so that it can be closed even when another one fails. */
  readonly started: (pod: Pod) => void;
}

/** The pods of one act, or of several. */
export interface Cast {
  readonly names: readonly [string, string, string];
  readonly journalOf: (name: string) => Journal;
  /** Gives pods in processes the database as a fallback for Redis, and is told by each of them when locks move. */
  readonly onAuthorityChange?: (change: AuthorityChange) => void;
}

export type Pods = readonly [Pod, Pod, Pod];

type Start = (name: string) => Promise<Pod>;

/** Three pods that are ready to lock: processes over Redis nodes, or else applications in this process over one memory store. */
export async function startPods(options: PodsOptions, cast: Cast): Promise<Pods> {
  const start = options.redisNodes.length > 0 ? inProcesses(options, cast) : inThisProcess(options, cast);
  const startReady: Start = async (name) => {
    const pod = await start(name);
    options.started(pod);
    await ready(pod, options.signal);
    return pod;
  };
  const [first, second, third] = cast.names;
  const starting = [startReady(first), startReady(second), startReady(third)] as const;
  await Promise.allSettled(starting);
  return Promise.all(starting);
}

function inThisProcess({ database, partnersUrl, breakLock }: PodsOptions, { journalOf }: Cast): Start {
  const store = breakLock ? new BrokenStore() : new MemoryStore();
  return (name) =>
    startLocalPod({ name, store, database, partnersUrl, journal: journalOf(name), sharedJournal: journalOf('nest') });
}

function inProcesses(options: PodsOptions, { journalOf, onAuthorityChange }: Cast): Start {
  const { database, databaseUrl, partnersUrl, redisNodes, breakLock } = options;
  const fallbackUrl = onAuthorityChange && databaseUrl;
  const settings = { databaseUrl, partnersUrl, redisNodes, breakLock, fallbackUrl };
  return (name) => startProcessPod({ name, ...settings }, { database, journal: journalOf(name), onAuthorityChange });
}

/** Resolves when all of them get locks. */
export async function allReady(pods: Pods, signal: AbortSignal): Promise<void> {
  await Promise.all(pods.map((pod) => ready(pod, signal)));
}

const POLL_MS = 100;
const PATIENCE_MS = 20_000;

/** Nobody announces that a Redis node is out of its quarantine, so this has to ask. */
async function ready(pod: Pod, signal: AbortSignal): Promise<void> {
  const giveUp = Date.now() + PATIENCE_MS;
  for (;;) {
    const response = await fetch(`${pod.url}/health`, { signal });
    if (response.ok) return;
    if (Date.now() > giveUp) throw new Error(`${pod.name} is not ready: ${response.status} ${await response.text()}`);
    await setTimeout(POLL_MS, undefined, { signal });
  }
}
