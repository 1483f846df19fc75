import { LockOptionsError } from '../errors.js';
import { claimFence, type SqlClient } from './claim-fence.js';
import { checkToken, toResources, type Fence } from './fence.js';

/** What is used of a pooled connection of pg. */
export interface PooledClient extends SqlClient {
  query(sql: string, params?: any[]): Promise<any>;
  /** With `true` the connection is closed instead of pooled. */
  release(destroy?: boolean): void;
  on?(event: 'error', listener: (error: Error) => void): unknown;
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

/** A pool of pg, whose `connect` has a second form, or of anything else that lends its connections in the same way. */
export type SqlPool<Client extends PooledClient = PooledClient> =
  { connect: { (): Promise<Client>; (callback: any): any } } | { connect(): Promise<Client> };

/**
 * Runs `work` in a transaction that has claimed the resource for this token first: begin, claim, work, commit. On any error it rolls back and
 * passes that error on. A job of several transactions calls it for each of them, with the same token.
 *
 * Await every query before `work` settles: one that is sent later runs outside of the transaction, and unguarded.
 * @throws StaleTokenError when a later holder has claimed the resource; nothing was read or written
 * @throws LockOptionsError for bad input, and when the table of `fencingSchemaSql()` is missing
 */
export async function fencedTransaction<Client extends PooledClient, Result>(
  pool: SqlPool<Client>,
  fence: Fence,
  work: (tx: Client) => PromiseLike<Result> | Result,
): Promise<Result> {
  toResources(fence.resource);
  checkToken(fence.token);
  const client = await borrow(pool);
  // A connection that breaks between two queries says so by an event, which without a listener ends the process. The next query rejects.
  client.on?.('error', ignore);
  let reusable = false;
  try {
    await client.query('BEGIN');
    await claimFence(client, fence);
    const result = await work(client);
    await commit(client, fence);
    reusable = true;
    return result;
  } catch (error) {
    reusable = await rollBack(client);
    throw error;
  } finally {
    client.off?.('error', ignore);
    client.release(!reusable);
  }
}

const ignore = (): void => undefined;

async function borrow<Client extends PooledClient>(pool: SqlPool<Client>): Promise<Client> {
  const remedy = 'give a pool of pg. With other libraries call `claimFence` first in a transaction of theirs.';
  const { connect } = (pool ?? {}) as { connect?: () => Promise<Client> };
  if (typeof connect !== 'function') throw new LockOptionsError('pool', pool, remedy);
  const client = await connect.call(pool);
  if (typeof (client as Client | undefined)?.release === 'function') return client;
  throw new LockOptionsError('pool', pool, `its connections have no \`release()\`: ${remedy}`);
}

/** A failed statement that `work` kept to itself has doomed the transaction: the server then answers COMMIT with a rollback, and no error. */
async function commit(client: PooledClient, { resource, token }: Fence): Promise<void> {
  const answer = (await client.query('COMMIT')) as { command?: unknown } | undefined;
  if (answer?.command !== 'ROLLBACK') return;
  throw new Error(
    `The transaction on ${JSON.stringify(resource)} with fencing token ${token} was rolled back at its end, since a statement in it had failed. ` +
      'Let the error of that statement reach `fencedTransaction`, or put the statement in a savepoint.',
  );
}

/** Whether the connection is known to be in no transaction afterwards. Why it is not does not matter to the caller, who has an error already. */
async function rollBack(client: PooledClient): Promise<boolean> {
  return client.query('ROLLBACK').then(
    () => true,
    () => false,
  );
}
