import { LockOptionsError } from '../../errors.js';
import type { Timers } from '../../runtime.js';
import type { PostgresConnectionOptions } from './postgres.options.js';

export interface PgResult {
  readonly rows: readonly Row[];
}

/** Every column as the server's text: what parsers an application has set for its own queries must not matter. */
export type Row = Readonly<Record<string, string | null>>;

export interface PgQuery {
  readonly name?: string | undefined;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** What we use of a client of `pg`. */
export interface PgClient {
  readonly host: string;
  readonly port: number;
  /** What the server, or whatever stands in front of it, said of itself when connecting. */
  readonly processID?: number | null;
  connect(): Promise<unknown>;
  query(query: PgQuery): Promise<PgResult | readonly PgResult[]>;
  end(): Promise<void>;
  on(event: string, listener: (detail: never) => void): unknown;
  off(event: string, listener: (detail: never) => void): unknown;
  /** Not in its documentation, but in every version: the way to let go of a connection that does not answer. */
  readonly connection?: { readonly stream?: { destroy(): void } };
}

export type ClientFactory = () => PgClient;

const TEXT_ONLY = { getTypeParser: () => (text: string) => text };

/** @throws LockOptionsError when `pg` is not installed, or takes offence at the options. */
export async function clientFactory(connection: PostgresConnectionOptions): Promise<ClientFactory> {
  const loaded = await loadPg();
  if (!loaded) throw new LockOptionsError('store', 'postgres', 'connecting needs its client: `npm install pg`.');
  const { Client } = ('Client' in loaded ? loaded : (loaded as { default: object }).default) as unknown as {
    Client: new (options: object) => PgClient;
  };
  const create: ClientFactory = () =>
    new Client({
      application_name: 'nestjs-fenced-lock',
      keepAlive: true,
      ...connection,
      types: TEXT_ONLY,
      // A query that times out there leaves the connection in use; ours gives it up.
      query_timeout: undefined,
    });
  try {
    create();
  } catch (error) {
    throw new LockOptionsError('connection', 'options', `pg refuses them: ${(error as Error).message}`);
  }
  return create;
}

export function rowsOf(result: PgResult | readonly PgResult[]): readonly Row[] {
  return ('rows' in result ? result : result.at(-1))?.rows ?? [];
}

/** Lets go of a connection at once, whatever state it is in, and hears nothing of it any more. */
export function abandon(client: PgClient): void {
  listenToTheEnd(client);
  client.end().catch(ignore);
  client.connection?.stream?.destroy();
}

/** Says goodbye and waits for the end, for up to `limitMs`. */
export async function end(client: PgClient, limitMs: number, timers: Timers): Promise<void> {
  listenToTheEnd(client);
  await new Promise<void>((resolve) => {
    const giveUp = (): void => {
      client.connection?.stream?.destroy();
      resolve();
    };
    const cancel = timers.start(giveUp, limitMs, true);
    const done = (): void => {
      cancel();
      resolve();
    };
    client.end().then(done, done);
  });
}

/** An error without a listener would end the process, and may come until the connection has ended. */
function listenToTheEnd(client: PgClient): void {
  const ended = (): void => {
    client.off('error', ignore);
    client.off('end', ended);
  };
  client.on('error', ignore);
  client.on('end', ended);
}

function ignore(): void {}

/** Right inside a `try`, or bundlers would take a package that is not there for a mistake. */
async function loadPg(): Promise<object | undefined> {
  try {
    return await import('pg');
  } catch {
    return undefined;
  }
}
