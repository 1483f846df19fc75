import { systemRuntime, type Runtime } from '../../runtime.js';
import type { StoreContext, StoreSource } from '../store-source.js';
import { clientFactory } from './pg-client.js';
import { toPostgresSettings, type PostgresOptions } from './postgres.options.js';
import { PostgresStore } from './postgres.store.js';
import { TransactionStore } from './transaction.store.js';

export type { PostgresConnectionOptions, PostgresOptions } from './postgres.options.js';
export { PostgresStore } from './postgres.store.js';
export { TransactionStore } from './transaction.store.js';
export { schemaSql } from './schema.js';

const WITHOUT_NEST: StoreContext = { ttlMs: 30_000, log: () => undefined };

type BySession = string | (PostgresOptions & { readonly mode?: 'session' });
type ByTransaction = PostgresOptions & { readonly mode: 'transaction' };

/**
 * Locks in PostgreSQL 14 or later, for `forRoot({ store: postgres('postgres://…') })`, or as the `fallback` of Redis.
 * @throws LockOptionsError naming the option, its value and what is accepted.
 */
export function postgres(options: BySession): StoreSource<PostgresStore>;
export function postgres(options: ByTransaction): StoreSource<TransactionStore>;
export function postgres(options: string | PostgresOptions): StoreSource<PostgresStore | TransactionStore>;
export function postgres(options: string | PostgresOptions): StoreSource<PostgresStore | TransactionStore> {
  toPostgresSettings(options);
  return { open: (context, runtime) => connectPostgres(options as ByTransaction, context, runtime) };
}

/**
 * Opens the store without Nest. A server out of reach is logged, and joins when it comes up.
 * @throws LockOptionsError for options that make no sense, and when the server answers that it cannot work: it is too old, refuses the role, lacks the tables.
 */
export function connectPostgres(options: BySession, context?: StoreContext, runtime?: Runtime): Promise<PostgresStore>;
export function connectPostgres(
  options: ByTransaction,
  context?: StoreContext,
  runtime?: Runtime,
): Promise<TransactionStore>;
export function connectPostgres(
  options: string | PostgresOptions,
  context?: StoreContext,
  runtime?: Runtime,
): Promise<PostgresStore | TransactionStore>;
export async function connectPostgres(
  options: string | PostgresOptions,
  context: StoreContext = WITHOUT_NEST,
  runtime: Runtime = systemRuntime,
): Promise<PostgresStore | TransactionStore> {
  const settings = toPostgresSettings(options);
  const Store = settings.mode === 'session' ? PostgresStore : TransactionStore;
  const store = new Store(await clientFactory(settings.connection), settings, context, runtime);
  try {
    await store.open();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}
