import { LockOptionsError } from '../../errors.js';
import { MAKING_TABLES } from './lock-id.js';
import type { Row } from './pg-client.js';
import { schemaSql, TABLES } from './schema.js';
import type { Session, Statement } from './session.js';

/** `idle_session_timeout` came with it. */
const LEAST_VERSION = 140_000;
/** Others may be making the tables at the same time. */
const TABLES_LIMIT_MS = 10_000;
/** The server understood, and says that it will not do what it was told to. Not so: too many clients, still starting up. */
const NEVER = /^(28|3D|3F|42)/;

const ABOUT: Statement = {
  text: `select current_setting('server_version_num') as version, current_setting('server_version') as release,
    pg_is_in_recovery() as standby, ${TABLES.map((table) => `to_regclass('${table}') is not null`).join(' and ')} as tables`,
};

export interface SessionSetup {
  readonly name: string;
  readonly createTables: boolean;
  /** What is to be done before the session is used. It may be a proxy's, and then nothing may be left on it. */
  readonly check?: () => Promise<void>;
  /** Settings of the session; none where it is shared. */
  readonly settings?: Statement;
}

/**
 * Connects, and makes the session fit to hold locks.
 * @throws LockOptionsError when the server says that it cannot work; any other error when it may work later.
 */
export async function setUp(session: Session, { name, createTables, check, settings }: SessionSetup): Promise<void> {
  try {
    await session.connect();
    await check?.();
    const [about = {}] = await session.ask(ABOUT);
    checkServer(name, about);
    if (settings) await session.ask(settings);
    if (about['tables'] === 't') return;
    if (!createTables) throw missingTables(name, 'they are missing, and `createTables` is false');
    await makeTables(session, name);
  } catch (error) {
    const reason = refusal(name, error as Error);
    session.lose(reason);
    throw reason;
  }
}

/** Under another isolation level, the token of the holder before might not be seen. */
export function holdingLocks(idleLimitMs: number): Statement {
  return { text: `set default_transaction_isolation = 'read committed'; ${idleLimit(idleLimitMs).text}` };
}

export function idleLimit(ms: number): Statement {
  return { text: `set idle_session_timeout = ${ms}` };
}

export function checkServer(name: string, { version, release, standby }: Row): void {
  if (Number(version) < LEAST_VERSION) {
    const remedy = `PostgreSQL 14 is the oldest that ends the session of a process that froze or was cut off; this is ${release}.`;
    throw new LockOptionsError('store', name, remedy);
  }
  if (standby === 't') throw new Error('it is a standby, which grants no locks; it will do once it is promoted');
}

async function makeTables(session: Session, name: string): Promise<void> {
  try {
    // One simple query is one transaction: the lock ends with it, and nothing is left half made.
    const text = `select pg_advisory_xact_lock(${MAKING_TABLES}); ${schemaSql()}`;
    await session.ask({ text }, [], TABLES_LIMIT_MS);
  } catch (error) {
    if (codeOf(error) === '42501' || codeOf(error) === '3F000') throw missingTables(name, (error as Error).message);
    throw error;
  }
}

function missingTables(name: string, why: string): LockOptionsError {
  const remedy = `its tables could not be made (${why}); run the SQL that \`schemaSql()\` of nestjs-fenced-lock/postgres returns, as a role that may.`;
  return new LockOptionsError('store', name, remedy);
}

function refusal(name: string, error: Error): Error {
  if (error instanceof LockOptionsError || !NEVER.test(codeOf(error))) return error;
  return new LockOptionsError('store', name, `the server refuses: ${error.message}.`);
}

function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
}
