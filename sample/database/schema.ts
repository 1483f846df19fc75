import type { Database } from './database.js';

/** The sample keeps to a schema of its own: it drops and re-creates this one, and touches nothing else. */
export const SCHEMA = 'fenced_lock_sample';

/** What all accounts hold together, before and after any transfer. */
export const ACCOUNTS = { a: 1000, b: 1000, c: 1000 } as const;

const ACCOUNT_ROWS = Object.entries(ACCOUNTS).map(([id, balance]) => `('${id}', ${balance})`);

/** Every row that a lock protects has a `fence`: the token of the last holder that claimed it. */
const STATEMENTS = [
  `DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`,
  `CREATE SCHEMA ${SCHEMA}`,
  'CREATE TABLE tickets  (id text PRIMARY KEY, buyer text, fence bigint NOT NULL DEFAULT 0)',
  'CREATE TABLE accounts (id text PRIMARY KEY, balance integer NOT NULL, fence bigint NOT NULL DEFAULT 0)',
  'CREATE TABLE reports  (id text PRIMARY KEY, author text, fence bigint NOT NULL DEFAULT 0)',
  'CREATE TABLE jobs     (id text PRIMARY KEY, fence bigint NOT NULL DEFAULT 0)',
  'CREATE TABLE invoices (month bigint NOT NULL, account text NOT NULL, pod text NOT NULL, token bigint NOT NULL)',
  "INSERT INTO tickets (id) VALUES ('A1')",
  `INSERT INTO accounts (id, balance) VALUES ${ACCOUNT_ROWS.join(', ')}`,
  "INSERT INTO reports (id) VALUES ('sales')",
  "INSERT INTO jobs (id) VALUES ('billing'), ('long')",
];

export async function createSchema(database: Database): Promise<void> {
  for (const statement of STATEMENTS) await database.query(statement);
}
