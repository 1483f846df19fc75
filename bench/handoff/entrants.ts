import type { Entrant } from '../entrant.js';
import { OURS } from '../entrants.js';
import { PEERS } from '../peers.js';
import { openServerFifo, openWakeAndCompete } from './limits.js';

/** Little less often than a timer can. */
const BRISK_MS = 5;

const OWN_PACE = 'its own pace';

/** The limit first. Peers as they poll by themselves, and briskly. */
export const HANDOFF_ENTRANTS: readonly Entrant[] = [
  { id: 'server FIFO', open: openServerFifo },
  { id: 'wake and compete', open: openWakeAndCompete },
  OURS,
  ...PEERS.flatMap((peer) => [polling(peer, 'own'), polling(peer, BRISK_MS)]),
];

/** How often it polls makes no difference to whether it excludes, and it was seen to with the other pace. */
export function needsProof({ id }: Entrant): boolean {
  return !id.endsWith(OWN_PACE);
}

function polling(peer: Entrant, poll: number | 'own'): Entrant {
  const how = poll === 'own' ? OWN_PACE : `every ${poll} ms`;
  return {
    ...peer,
    id: `${peer.id}, ${how}`,
    peerName: `${peer.peerName}, ${how}`,
    async open(options) {
      const locker = await peer.open({ ...options, poll });
      return { ...locker, name: `${locker.name}, ${how}` };
    },
  };
}
