import { openBarePair, openBarePipeline } from './bare/bare-pair.js';
import { openTickScript } from './bare/tick-script.js';
import type { Entrant } from './entrant.js';
import { openAcquireAndRelease, openDecorated, openWithLock } from './ours.js';
import { PEERS } from './peers.js';

export const BARE_PAIR: Entrant = { id: 'bare pair', open: openBarePair };
/** What many locks at once could cost if a library cost nothing. */
export const LIMITS: readonly Entrant[] = [
  { id: 'bare pipeline', open: openBarePipeline },
  { id: 'tick script', open: openTickScript },
];
export const OURS: Entrant = { id: 'ours', open: openAcquireAndRelease };
export const OURS_WITH_CONTEXT: readonly Entrant[] = [
  { id: 'ours: withLock', open: openWithLock, usesContext: true },
  { id: 'ours: @WithLock', open: openDecorated, usesContext: true },
];

export function entrantOf(id: string): Entrant {
  const found = [BARE_PAIR, ...LIMITS, OURS, ...OURS_WITH_CONTEXT, ...PEERS].find((entrant) => entrant.id === id);
  if (!found) throw new Error(`nobody is called ${id}`);
  return found;
}
