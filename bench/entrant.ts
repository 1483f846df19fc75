import { proveExclusion } from './exclusion.js';
import type { Locker, LockerOptions, OpenLocker } from './locker.js';

/** Who may take part in a comparison. */
export interface Entrant {
  /** By which another process finds it. */
  readonly id: string;
  /** Rejects with the reason why it cannot run here, if so. */
  readonly open: OpenLocker;
  /** What it is called where it cannot be opened. Only of peers: without the others there is no comparison. */
  readonly peerName?: string;
  /** Whether it uses an AsyncLocalStorage. On Node 20, the first use slows every promise of the process for good. */
  readonly usesContext?: boolean;
}

export interface Field<T> {
  readonly admitted: readonly [T, ...T[]];
  readonly leftOut: readonly string[];
}

/** Lets each enter in its way. Peers that cannot are left out, with the reason. */
export async function admit<E extends Pick<Entrant, 'peerName'>, T>(
  entrants: readonly E[],
  enter: (entrant: E) => Promise<T>,
): Promise<Field<T>> {
  const admitted: T[] = [];
  const leftOut: string[] = [];
  for (const entrant of entrants) {
    try {
      admitted.push(await enter(entrant));
    } catch (error) {
      if (entrant.peerName === undefined) throw error;
      leftOut.push(`${entrant.peerName}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { admitted: admitted as [T, ...T[]], leftOut };
}

/** Opens it after it was seen to exclude. */
export async function openProven({ open }: Pick<Entrant, 'open'>, options: LockerOptions): Promise<Locker> {
  await proveExclusion(() => open(options));
  return open(options);
}
