import { systemRuntime } from '../runtime.js';
import { toFailoverTerms } from '../stores/failover/failover.options.js';
import { openFailover } from '../stores/failover/open-failover.js';
import type { LockStore } from '../stores/lock-store.js';
import { connectPostgres } from '../stores/postgres/index.js';
import { connectRedis } from '../stores/redis/redis.store.js';
import type { StoreContext } from '../stores/store-source.js';
import type { Arguments } from './arguments.js';
import { UsageError } from './usage.js';

/** No message has a password in it on purpose; of a shorter one, what would be taken out would be parts of words. */
const SHORTEST_SECRET = 4;

/** Where the locks are. */
export interface Places {
  readonly nodes: readonly string[];
  readonly database: string | undefined;
}

/** @throws UsageError; it never shows an address, since there may be a password in it. */
export function toPlaces({ nodes, fallback }: Arguments, env: NodeJS.ProcessEnv): Places {
  const listed = (env['REDIS_NODES'] ?? '').split(',').map((node) => node.trim());
  const found = nodes.length > 0 ? nodes : listed.filter((node) => node !== '');
  const database = env['DATABASE_URL'] || undefined;
  for (const [index, node] of found.entries()) {
    if (/^rediss?:\/\//.test(node) && URL.canParse(node)) continue;
    throw new UsageError(`node ${index + 1} is no URL such as redis://host:6379`);
  }
  if (fallback && (found.length === 0 || !database)) {
    throw new UsageError('--fallback takes both: Redis nodes, and DATABASE_URL to stand in for them');
  }
  if (found.length === 0 && !database) throw new UsageError('give --node <url>, REDIS_NODES or DATABASE_URL');
  return { nodes: found, database: fallback || found.length === 0 ? database : undefined };
}

/** Whoever only looks leaves no marker on nodes and makes no tables. */
export async function openStore(args: Arguments, places: Places, context: StoreContext): Promise<LockStore> {
  const { nodes, database } = places;
  const looks = args.command !== 'run';
  const openPostgres = (connection: string) => connectPostgres({ connection, createTables: !looks }, context);
  if (nodes.length === 0) return openPostgres(database!);
  const quarantine = looks ? 0 : args.quarantine;
  const redis = await connectRedis({
    ...{ nodes, ...context },
    ...(args.nodeTimeout === undefined ? {} : { nodeTimeout: args.nodeTimeout }),
    ...(quarantine === undefined ? {} : { quarantine }),
  });
  if (!database) return redis;
  try {
    const fallback = await openPostgres(database);
    return await openFailover(redis, fallback, toFailoverTerms(undefined), context, systemRuntime);
  } catch (error) {
    await redis.close();
    throw error;
  }
}

/** The passwords in these addresses, however they are written there. */
export function secretsOf({ nodes, database }: Places): string[] {
  const urls = [...nodes, ...(database ? [database] : [])].flatMap((text) =>
    URL.canParse(text) ? [new URL(text)] : [],
  );
  const passwords = urls.flatMap(({ password, searchParams }) => [password, searchParams.get('password') ?? '']);
  return passwords.flatMap((text) => [text, decoded(text)]).filter(({ length }) => length >= SHORTEST_SECRET);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
