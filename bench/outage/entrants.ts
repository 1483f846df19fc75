import { connectPlain, disconnectAll } from '../connections.js';
import type { Entrant } from '../entrant.js';
import type { OpenLocker } from '../locker.js';
import { acquireAndRelease, openManager } from '../ours.js';
import { PEERS } from '../peers.js';

export const OURS_WITH_URLS = 'nestjs-fenced-lock, nodes as URLs';
export const OURS_WITH_CLIENTS = "nestjs-fenced-lock, the user's clients";

/** New nodes would abstain for a ttl; all else is as it is by itself, the time a node has to answer included. */
const OPTIONS = { quarantine: 0 } as const;

const openWithUrls: OpenLocker = async (options) => {
  const manager = await openManager({ nodes: [...options.urls], ...OPTIONS });
  return { ...acquireAndRelease(manager, options), name: OURS_WITH_URLS };
};

const openWithClients: OpenLocker = async (options) => {
  const nodes = await connectPlain(options.urls);
  const manager = await openManager({ nodes, ...OPTIONS });
  const close = async (): Promise<void> => {
    await manager.close();
    await disconnectAll(nodes);
  };
  return { ...acquireAndRelease(manager, options), name: OURS_WITH_CLIENTS, close };
};

export const OUTAGE_ENTRANTS: readonly Entrant[] = [
  { id: 'ours, URLs', open: openWithUrls },
  { id: 'ours, clients', open: openWithClients },
  ...PEERS,
];
