/** A server of this run alone, on this machine. It ends with this process, however that ends. */
export interface LocalServer {
  readonly url: string;
  stop(): Promise<void>;
}

export interface LocalRedis extends LocalServer {
  /** As in a crash. */
  kill(): Promise<void>;
  /** On its old address, and empty. */
  restart(): Promise<void>;
}

/** Independent of each other, without persistence. */
export async function startRedisServers(count: number): Promise<LocalRedis[]> {
  await ensure('redis-server', 'REDIS_NODES=redis://…,redis://…,redis://…');
  const { startRedis } = await script<{ startRedis: () => Promise<LocalRedis> }>('redis-process.mjs');
  return allOrNone(Array.from({ length: count }, startRedis));
}

/** With an empty database, which is gone afterwards. Where PostgreSQL is not installed, npm brings it. */
export async function startPostgres(): Promise<LocalServer> {
  await ensure('PostgreSQL', 'DATABASE_URL=postgres://…');
  return (await script<{ startPostgres: () => Promise<LocalServer> }>('postgres-process.mjs')).startPostgres();
}

async function ensure(server: string, instead: string): Promise<void> {
  const { ensureServer } = await script<{
    ensureServer: (name: string, how: { onSystem: boolean }) => void;
  }>('install-servers.mjs');
  try {
    ensureServer(server, { onSystem: false });
  } catch (error) {
    throw new Error(`${(error as Error).message}\nor say where one runs: ${instead}`, { cause: error });
  }
}

/** From the package's root, since the compiled sample lies deeper than its source. */
function script<Exports>(file: string): Promise<Exports> {
  const root = import.meta.resolve('nestjs-fenced-lock/package.json');
  return import(new URL(`scripts/${file}`, root).href) as Promise<Exports>;
}

async function allOrNone<Server extends LocalServer>(starting: Promise<Server>[]): Promise<Server[]> {
  const outcomes = await Promise.allSettled(starting);
  const started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  if (started.length < starting.length) await Promise.all(started.map((server) => server.stop()));
  return Promise.all(starting);
}
