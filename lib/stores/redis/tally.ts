import type { Vote } from './round.js';

/** How many of the nodes that refused did so for the same holder. */
export function mostOfOneHolder(refusals: readonly Vote[]): number {
  const counts = new Map<string | undefined, number>();
  for (const { reply } of refusals) {
    const holder = reply.status === 'no' ? reply.holder : undefined;
    counts.set(holder, (counts.get(holder) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}
