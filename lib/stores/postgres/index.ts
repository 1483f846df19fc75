import { systemRuntime, type Runtime } from '../../runtime.js';
import type { StoreContext, StoreSource } from '../store-source.js';
import { clientFactory } from './pg-client.js';
import { toPostgresSettings, type PostgresOptions } from './postgres.options.js';
import { PostgresStore } from './postgres.store.js';

export type { PostgresConnectionOptions, PostgresOptions } from './postgres.options.js';
export { PostgresStore } from './postgres.store.js';
export { schemaSql } from './schema.js';

const ALONE: StoreContext = { ttlMs: 30_000, log: () => undefined };

/**
 * Locks in PostgreSQL 14 or later, for `forRoot({ store: postgres('postgres://…') })`, or as the `fallback` of Redis.
 * @throws LockOptionsError naming the option, its value and what is accepted.
 */
export function postgres(options: string | PostgresOptions): StoreSource<PostgresStore> {
  toPostgresSettings(options);
  return { open: (context, runtime) => connectPostgres(options, context, runtime) };
}

/**
 * Opens the store without Nest. A server out of reach is logged, and joins when it comes up.
 * @throws LockOptionsError for options that make no sense, and when the server answers that it cannot work: it is too old, refuses the role, lacks the tables.
 */
export async function connectPostgres(
  options: string | PostgresOptions,
  context: StoreContext = ALONE,
  runtime: Runtime = systemRuntime,
): Promise<PostgresStore> {
  const settings = toPostgresSettings(options);
  const store = new PostgresStore(await clientFactory(settings.connection), settings, context, runtime);
  try {
    await store.open();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}
