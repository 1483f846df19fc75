import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { toMs } from '../duration.js';
import type { Lock } from '../lock.js';
import type { LockManager } from '../lock-manager.js';
import type { LockOptions } from '../lock.options.js';
import type { Arguments } from './arguments.js';
import { EXIT } from './exit-codes.js';
import { ProcessGroup } from './process-group.js';

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const GRACE = '5s';
/** A store that does not answer frees the key at its ttl. */
const RELEASE_MS = 2000;

/** Runs the command under the lock, and ends it when the lock is lost. */
export async function run(locks: LockManager, args: Arguments, tell: (message: string) => void): Promise<number> {
  const graceMs = toMs('grace', args.grace ?? GRACE);
  const interruption = new AbortController();
  let group: ProcessGroup | undefined;
  const forward = (signal: NodeJS.Signals): void => {
    if (group) group.signal(signal);
    else interruption.abort(signal);
  };
  for (const signal of FORWARDED) process.on(signal, forward);
  try {
    const lock = await locks.acquire(args.key, { ...optionsOf(args), signal: interruption.signal });
    group = new ProcessGroup(args.program, environment(lock), graceMs);
    return await watch(lock, group, tell);
  } catch (error) {
    if (!interruption.signal.aborted || error !== interruption.signal.reason) throw error;
    return EXIT.signal + constants.signals[interruption.signal.reason as NodeJS.Signals];
  } finally {
    for (const signal of FORWARDED) process.off(signal, forward);
  }
}

async function watch(lock: Lock, group: ProcessGroup, tell: (message: string) => void): Promise<number> {
  let ended = false;
  const end = (): void => {
    ended = true;
    tell('The lock is lost, so the command is ended.');
    group.end();
  };
  if (lock.signal.aborted) end();
  else lock.signal.addEventListener('abort', end, { once: true });
  const code = await group.exited;
  lock.signal.removeEventListener('abort', end);
  await Promise.race([lock.release(), sleep(RELEASE_MS, undefined, { ref: false })]);
  if (group.failure !== undefined) tell(`The command cannot be run: ${group.failure}`);
  if (ended) return EXIT.lost;
  // What the command says of itself wins.
  return lock.loss && code === EXIT.ok ? EXIT.lost : code;
}

function environment(lock: Lock): NodeJS.ProcessEnv {
  return { ...process.env, FENCING_TOKEN: String(lock.fencingToken), LOCK_KEY: lock.key };
}

function optionsOf({ ttl, wait, minHold, maxHold }: Arguments): LockOptions {
  return {
    ...(ttl === undefined ? {} : { ttl }),
    ...(wait === undefined ? {} : { wait }),
    ...(minHold === undefined ? {} : { minHold }),
    ...(maxHold === undefined ? {} : { maxHold }),
  };
}
