import { setTimeout as sleep } from 'node:timers/promises';
import type { Adapter } from './adapters.js';
import type { LimitName } from './limits.js';
import type { Trial } from './trial.js';

export interface Fault {
  readonly id: string;
  /** Where the page names it. */
  readonly title: string;
  /** What is done, for a reader of the page. */
  readonly about: string;
  readonly fits: (adapter: Adapter) => boolean;
  /** What ours must show here. */
  readonly limits: (adapter: Adapter) => readonly LimitName[];
  /** Brings the trial through: workers, quiet time, fault, healing, and their end. */
  run(trial: Trial): Promise<void>;
}

export const onNodes = ({ backend }: Adapter): boolean => ['redis', 'lone redis', 'both', 'none'].includes(backend);
export const onSeveral = ({ backend }: Adapter): boolean => ['redis', 'both'].includes(backend);
export const onPostgres = ({ backend }: Adapter): boolean => ['postgres', 'both'].includes(backend);
export const onAny = (): boolean => true;

/** The common course: a quiet time, the fault, which lasts, its end, and the way back. The first worker holds the lock meanwhile, unless `held` is false. */
export async function course(
  trial: Trial,
  {
    held = true,
    begin,
    lastsMs = 0,
    heal = async () => undefined,
  }: { held?: boolean; begin: () => Promise<void> | void; lastsMs?: number; heal?: () => Promise<unknown> },
): Promise<void> {
  await trial.begin();
  await trial.quiet();
  if (held) await trial.hold();
  trial.broken();
  await begin();
  await sleep(lastsMs);
  await heal();
  trial.healed();
  // Who has been told meanwhile has left already.
  if (held) trial.victim.send({ do: 'go' });
  await trial.end();
}
