import type { Vote } from './round.js';

/** How many of the nodes that refused did so for the same holder, other than this owner. */
export function mostOfOneHolder(refusals: readonly Vote[], owner: string): number {
  const counts = new Map<string | undefined, number>();
  for (const { reply } of refusals) {
    const holder = reply.status === 'no' ? reply.holder : undefined;
    if (holder !== owner) counts.set(holder, (counts.get(holder) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}
