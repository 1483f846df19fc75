import { on } from '../../lab.js';
import { course, onNodes, onSeveral, type Fault } from '../fault.js';

/** So long after the fault a holder that was not told writes. */
const WRITES_AFTER_MS = 1200;

/** What makes Redis nodes forget. */
export const MEMORY_FAULTS: readonly Fault[] = [
  {
    id: 'flushall',
    title: 'FLUSHALL on all nodes, under a held lock',
    about: 'everything is gone, and everybody stays connected',
    fits: onNodes,
    limits: ({ quarantineMs, backend }) => (quarantineMs > 0 && backend !== 'both' ? ['renewal'] : []),
    run: (trial) =>
      course(trial, {
        begin: async () =>
          void (await Promise.all(trial.servers.map((server) => on(server, (redis) => redis.flushall())))),
        lastsMs: WRITES_AFTER_MS,
      }),
  },
  {
    id: 'empty-voters',
    title: 'one voter restarts empty, then another',
    about: 'under a held lock, and before a renewal could heal the first: a majority knows nothing of it',
    fits: onSeveral,
    limits: ({ quarantineMs, backend, nodes }) =>
      nodes > 3 || backend === 'both' || quarantineMs === 0 ? ['overlap'] : ['renewal'],
    run: (trial) =>
      course(trial, {
        begin: async () => {
          for (const server of trial.servers.slice(0, 2)) await server.restart();
        },
        lastsMs: WRITES_AFTER_MS,
      }),
  },
];
