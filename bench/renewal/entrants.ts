import type { KeeperEntrant } from './keeper.js';
import { TIMERS, WHEEL } from './limits.js';
import { OURS } from './ours.js';
import { PEER_KEEPERS } from './peers.js';

export const KEEPER_ENTRANTS: readonly KeeperEntrant[] = [WHEEL, TIMERS, OURS, ...PEER_KEEPERS];
