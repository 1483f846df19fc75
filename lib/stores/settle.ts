import type { Lease } from './lock-store.js';

/** Tells a lease what came of the renewal that was asked for it alone. */
export function settle(lease: Pick<Lease, 'renewed' | 'unclear'>, asked: Promise<boolean>): void {
  asked.then(
    (ours) => lease.renewed(ours),
    (error: unknown) => lease.unclear(error),
  );
}
