import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import pg from 'pg';
import { systemRuntime } from '../../../lib/runtime.js';
import { connectPostgres, PostgresStore, type PostgresOptions } from '../../../lib/stores/postgres/index.js';
import type { PgClient } from '../../../lib/stores/postgres/pg-client.js';
import { toPostgresSettings } from '../../../lib/stores/postgres/postgres.options.js';
import { eventually } from '../../support/eventually.js';
import { PostgresServer } from '../../support/postgres-server.js';

const NAME = 'nestjs-fenced-lock';

type Terms = Omit<PostgresOptions, 'connection' | 'mode'>;

/** A server, what a test opens on it, and its end. */
export class PostgresLab {
  readonly #ends: (() => Promise<unknown>)[] = [];

  private constructor(
    readonly server: PostgresServer,
    readonly admin: pg.Pool,
  ) {}

  static async start(args: string[] = []): Promise<PostgresLab> {
    const server = await PostgresServer.start({ args });
    const admin = new pg.Pool({ connectionString: server.url });
    admin.on('error', () => undefined);
    return new PostgresLab(server, admin);
  }

  async stop(): Promise<void> {
    await this.admin.end();
    await this.server.stop();
  }

  /** For what is to be over after the test. */
  onEnd(end: () => Promise<unknown>): void {
    this.#ends.push(end);
  }

  async endTest(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
  }

  /** The subject of most tests is the order of things, not how soon: patient unless told otherwise. */
  async open(terms: Terms = {}, connection = this.server.url, log: string[] = []): Promise<PostgresStore> {
    const options = { timeout: '20s', sessionTimeout: '60s', ...terms, connection };
    const store = await connectPostgres(options, { ttlMs: 1000, log: (message) => void log.push(message) });
    this.onEnd(() => store.close());
    return store;
  }

  /** As `open`, with the clients that it makes. The first is made for its name only. */
  async openWatched(terms: Terms = {}, connection = this.server.url): Promise<[PostgresStore, pg.Client[]]> {
    const clients: pg.Client[] = [];
    const create = (): PgClient => {
      const client = new pg.Client({
        connectionString: connection,
        application_name: NAME,
        types: { getTypeParser: () => String } as never,
      });
      clients.push(client);
      return client as unknown as PgClient;
    };
    const settings = toPostgresSettings({ timeout: '20s', sessionTimeout: '60s', ...terms, connection });
    const store = new PostgresStore(create, settings, { ttlMs: 1000, log: () => undefined }, systemRuntime);
    this.onEnd(() => store.close());
    await store.open();
    return [store, clients];
  }

  async rows(sql: string, values: unknown[] = []): Promise<any[]> {
    return (await this.admin.query(sql, values)).rows;
  }

  async advisoryLocks(): Promise<number> {
    const [row] = await this.rows(`select count(*)::int as locks from pg_locks where locktype = 'advisory'`);
    return row.locks;
  }

  /** What the server logs from now on; it keeps little. */
  async logFromNow(): Promise<() => string> {
    const mark = `mark ${randomUUID()}`;
    await this.rows(`select '${mark}'`);
    await eventually(() => expect(this.server.log).toContain(mark));
    return () => this.server.log.slice(this.server.log.indexOf(mark));
  }

  /** Ends the sessions of the stores. */
  async terminate(): Promise<void> {
    await this.rows('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [NAME]);
  }
}
