import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { connectPostgres } from '../../../lib/stores/postgres/index.js';
import { defineStoreContract } from '../../../lib/testing/index.js';
import { PostgresServer } from '../../support/postgres-server.js';

describe('PostgresStore', () => {
  let server: PostgresServer | undefined;
  beforeAll(async () => void (server = await PostgresServer.start()), 60_000);
  afterAll(() => server?.stop());

  defineStoreContract({
    test: it,
    createStore: () => connectPostgres({ connection: server!.url, timeout: '20s', sessionTimeout: '60s' }),
  });
});
