import { parseArgs } from 'node:util';

export interface Settings {
  /** End after every act and a few months of billing, instead of going on until Ctrl-C. */
  readonly once: boolean;
  /** Start three local redis-servers for this run. */
  readonly startRedis: boolean;
  /** Redis servers that are already there. */
  readonly redisNodes: readonly string[];
  /** A real PostgreSQL, instead of PGlite in this process. */
  readonly databaseUrl: string | undefined;
  /** For the sample's own test: a lock that lets everyone in, to see that the verdict notices. */
  readonly breakLock: boolean;
}

/** @throws Error that says what is accepted. */
export function readSettings(args: readonly string[], env: NodeJS.ProcessEnv): Settings {
  const { values } = parseArgs({ args: [...args], options: { once: { type: 'boolean' }, redis: { type: 'boolean' } } });
  const redisNodes = (env['REDIS_NODES'] ?? '').split(',').map((url) => url.trim());
  return {
    once: values.once ?? false,
    startRedis: values.redis ?? false,
    redisNodes: redisNodes.filter((url) => url !== ''),
    databaseUrl: env['DATABASE_URL'] || undefined,
    breakLock: env['SAMPLE_BREAK_LOCK'] === '1',
  };
}
