import { LockUnavailableError } from '../../errors.js';
import type { LockState } from '../lock-store.js';
import { Round, type Vote } from './round.js';

/** How many of the nodes that refused did so for the same holder. */
export function mostOfOneHolder(refusals: readonly Vote[]): number {
  const counts = new Map<string | undefined, number>();
  for (const { reply } of refusals) {
    const holder = reply.status === 'no' ? reply.holder : undefined;
    counts.set(holder, (counts.get(holder) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}

/** Who holds the key on a majority, or that nobody does. @throws LockUnavailableError when nobody can tell. */
export class Look extends Round<LockState> {
  protected override count(): LockState | undefined {
    const { yes, no, failures, open } = this;
    const { quorum } = this.group;
    const fencingToken = Math.max(0, ...[...yes, ...no].map(({ reply }) => reply.value));
    const token = fencingToken > 0 ? { fencingToken } : {};
    const leases = new Map<string, number[]>();
    for (const { reply } of yes) {
      if (reply.status !== 'yes' || !reply.state) continue;
      const { owner, remainingMs } = reply.state;
      leases.set(owner, [...(leases.get(owner) ?? []), remainingMs]);
    }
    let most = 0;
    for (const [owner, remaining] of leases) {
      most = Math.max(most, remaining.length);
      if (remaining.length < quorum || open > 0) continue;
      remaining.sort((a, b) => b - a);
      return { locked: true, owner, remainingMs: remaining[quorum - 1]!, ...token };
    }
    if (open > 0) return undefined;
    if (most + failures.length < quorum) return { locked: false, ...token };
    throw new LockUnavailableError(this.request.key, failures);
  }
}
