import { setTimeout } from 'node:timers/promises';
import { MemoryStore } from 'nestjs-fenced-lock';
import type { Database } from '../database/database.js';
import type { Journal } from '../shop/journal.js';
import { BrokenStore } from '../stores/broken.store.js';
import type { LockSource } from './lock-options.js';
import { startLocalPod } from './local-pod.js';
import type { Pod } from './pod.js';
import { startProcessPod } from './process-pod.js';

export interface PodsOptions extends LockSource {
  readonly database: Database;
  readonly databaseUrl: string | undefined;
  readonly partnersUrl: string;
  /** Ends the wait for readiness. */
  readonly signal: AbortSignal;
  readonly journalOf: (name: string) => Journal;
}

type Start = (name: string) => Promise<Pod>;

/**
 * Three pods that are ready to lock: processes over Redis nodes, or else applications in this process over one memory store. Each
 * is reported as soon as it runs, so that it can be closed even when another one fails.
 */
export async function startPods(options: PodsOptions, started: (pod: Pod) => void): Promise<readonly [Pod, Pod, Pod]> {
  const start = options.redisNodes.length > 0 ? inProcesses(options) : inThisProcess(options);
  const startReady: Start = async (name) => {
    const pod = await start(name);
    started(pod);
    await ready(pod, options.signal);
    return pod;
  };
  const starting = [startReady('pod-1'), startReady('pod-2'), startReady('pod-3')] as const;
  await Promise.allSettled(starting);
  return Promise.all(starting);
}

function inThisProcess({ database, partnersUrl, breakLock, journalOf }: PodsOptions): Start {
  const store = breakLock ? new BrokenStore() : new MemoryStore();
  return (name) =>
    startLocalPod({ name, store, database, partnersUrl, journal: journalOf(name), sharedJournal: journalOf('nest') });
}

function inProcesses({ database, databaseUrl, partnersUrl, redisNodes, breakLock, journalOf }: PodsOptions): Start {
  return (name) =>
    startProcessPod({ name, databaseUrl, partnersUrl, redisNodes, breakLock }, database, journalOf(name));
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
