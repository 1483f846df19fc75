import { Redis } from 'ioredis';
import pg from 'pg';
import { PostgresServer } from '../support/postgres-server.js';
import { startRedisNodes, stopAll, type RedisServer } from '../support/redis-server.js';
import type { Fault } from './faults.js';
import type { StoreTerms } from './open-store.js';

export const STORES = ['memory', 'one Redis', 'three nodes', 'Postgres', 'fallback'] as const;
export type StoreName = (typeof STORES)[number];

/** The servers of one store, what can befall them, and what is left on them. */
export interface Place {
  readonly terms: StoreTerms;
  /** Within memory, contenders share a process. */
  readonly processes: number;
  readonly loops: number;
  readonly faults: readonly Fault[];
  leftovers(): Promise<string[]>;
  stop(): Promise<void>;
}

type Server = RedisServer | PostgresServer;

/** Long enough for every process to hear of it before the server is back: one that ends sessions under frozen processes is not covered by any lease. */
const SHORTEST_DOWN_MS = 1000;

export async function openPlace(name: StoreName): Promise<Place> {
  const many = { processes: 3, loops: 1 };
  if (name === 'memory') {
    return { terms: {}, processes: 1, loops: 3, faults: [], leftovers: async () => [], stop: async () => undefined };
  }
  if (name === 'Postgres') {
    const server = await PostgresServer.start();
    const faults = [freeze('Postgres', [server]), restart('Postgres', [server])];
    const leftovers = (): Promise<string[]> => onPostgres(server);
    return { terms: { postgres: server.url }, ...many, faults, leftovers, stop: () => server.stop() };
  }
  const nodes = await startRedisNodes(name === 'one Redis' ? 1 : 3);
  const each = nodes.flatMap((node, index) => [freeze(`node ${index}`, [node]), restart(`node ${index}`, [node])]);
  const all = freeze('all nodes', nodes);
  const terms = { nodes: nodes.map(({ url }) => url) };
  const onNodes = async (): Promise<string[]> => (await Promise.all(nodes.map(onRedis))).flat();
  if (name !== 'fallback') {
    return { terms, ...many, faults: [...each, all], leftovers: onNodes, stop: () => stopAll(nodes) };
  }
  const server = await PostgresServer.start();
  return {
    terms: { ...terms, postgres: server.url },
    ...many,
    // Outages that are long enough for a switch, and others.
    faults: [
      ...each,
      all,
      long(all),
      long(restart('all nodes', nodes)),
      freeze('Postgres', [server]),
      restart('Postgres', [server]),
    ],
    leftovers: async () => [...(await onNodes()), ...(await onPostgres(server))],
    stop: async () => {
      await Promise.all([stopAll(nodes), server.stop()]);
    },
  };
}

function freeze(what: string, servers: readonly Server[]): Fault {
  return {
    name: `freeze ${what}`,
    leastMs: 0,
    begin: async () => servers.forEach((server) => server.freeze()),
    end: async () => servers.forEach((server) => server.thaw()),
  };
}

/** Redis comes back empty, Postgres with what was committed. */
function restart(what: string, servers: readonly Server[]): Fault {
  return {
    name: `restart ${what}`,
    leastMs: SHORTEST_DOWN_MS,
    begin: async () => void (await Promise.all(servers.map((server) => server.kill()))),
    end: async () => void (await Promise.all(servers.map((server) => server.restart()))),
  };
}

function long(fault: Fault): Fault {
  return { ...fault, name: `${fault.name} for long`, leastMs: 4000 };
}

/** Locks that nobody holds any more, and keys that would stay for ever. */
async function onRedis({ port }: RedisServer): Promise<string[]> {
  const client = new Redis(port, '127.0.0.1');
  try {
    const keys = (await client.keys('lock:{*')).filter((key) => key !== 'lock:marker');
    const left = await Promise.all(
      keys.map(async (key) => {
        if (/\}$/.test(key)) return [`${key} on ${port}`];
        return (await client.pttl(key)) === -1 ? [`${key} on ${port} without a ttl`] : [];
      }),
    );
    return left.flat();
  } finally {
    client.disconnect();
  }
}

async function onPostgres({ url }: PostgresServer): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(`SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory'`);
    const { n } = rows[0] as { n: number };
    return n > 0 ? [`${n} advisory locks`] : [];
  } finally {
    await client.end();
  }
}
