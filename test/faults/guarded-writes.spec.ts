import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Lock } from '../../lib/lock.js';
import { PostgresFixture } from '../fencing/postgres-fixture.js';
import { ChildProcess } from '../support/child-process.js';
import type { RedisServer } from '../support/redis-server.js';
import { Lab, urls } from './lab.js';
import { type Guard, PostgresAccount } from './postgres-account.js';

const lab = new Lab();
let redis: RedisServer;
let database: PostgresFixture;

beforeAll(async () => {
  [redis] = (await lab.start(1)) as [RedisServer];
  database = await PostgresFixture.start();
}, 60_000);
afterAll(async () => {
  await database.stop();
  await lab.end();
});

describe('A holder that is frozen after its last look at the lock, before it writes', () => {
  let key: string;
  let holder: ChildProcess;
  let token: number;
  let account: PostgresAccount;

  beforeEach(() => {
    key = lab.key('account');
  });
  afterEach(async () => {
    await holder.kill();
    await lab.tidy();
  });

  /** A process with the lock, which has read the account and looked at the lock, and does not run. */
  const freezeHolder = async (guard: Guard, how: 'two-steps' | 'one-transaction', url = ''): Promise<void> => {
    account = new PostgresAccount(database.pool, key, guard);
    await account.open();
    holder = await ChildProcess.start(new URL('./fixtures/account-holder.ts', import.meta.url), {
      args: [redis.url, url || database.server.url, key, guard],
    });
    ({ token } = await holder.next<{ token: number }>(({ token }) => token > 0));
    holder.send({ type: how });
    await holder.next<{ type: string }>(({ type }) => type === 'read');
    holder.freeze();
  };

  /** Its lease runs out, and somebody else gets the lock. */
  const succeed = async (): Promise<Lock> => {
    const lock = await (await lab.pod({ nodes: urls([redis]) })).acquire(key, { wait: '60s', ttl: '60s' });
    expect(lock.fencingToken).toBeGreaterThan(token);
    return lock;
  };

  /** It goes on where it was. */
  const wake = (): Promise<object> => {
    holder.send({ type: 'go' });
    holder.thaw();
    return holder.next<{ type: string }>(({ type }) => type === 'done');
  };

  it('writes over what its successor wrote, where nothing guards the account: an update is lost', async () => {
    await freezeHolder('none', 'two-steps');
    const { fencingToken } = await succeed();
    const balance = await account.read(fencingToken);
    expect(await account.write(fencingToken, balance + 1)).toBe(true);

    expect(await wake()).toMatchObject({ result: true });
    expect(await account.look()).toBe(1); // of two additions that both succeeded
  });

  describe('where only the write checks the token', () => {
    it('is refused once its successor has written', async () => {
      await freezeHolder('write-check', 'two-steps');
      const { fencingToken } = await succeed();
      const balance = await account.read(fencingToken);
      expect(await account.write(fencingToken, balance + 1)).toBe(true);

      expect(await wake()).toMatchObject({ result: false });
      expect(await account.look()).toBe(1);
    });

    it('still gets its write in while its successor has only read: an update is lost', async () => {
      await freezeHolder('write-check', 'two-steps');
      const { fencingToken } = await succeed();
      const balance = await account.read(fencingToken);

      expect(await wake()).toMatchObject({ result: true });
      expect(await account.write(fencingToken, balance + 1)).toBe(true);
      expect(await account.look()).toBe(1); // of two additions that both succeeded
    });
  });

  describe('where each transaction claims the account first', () => {
    it.each(['has only read', 'has written'])('is refused when its successor %s: nothing is lost', async (progress) => {
      await freezeHolder('claim', 'two-steps');
      const { fencingToken } = await succeed();
      const balance = await account.read(fencingToken);
      if (progress === 'has written') await account.write(fencingToken, balance + 1);

      expect(await wake()).toMatchObject({ code: 'STALE_TOKEN' });
      if (progress === 'has only read') await account.write(fencingToken, balance + 1);
      expect(await account.look()).toBe(1); // of one addition that succeeded, and one that was refused
    });

    it('gets its write in while its successor has not begun, which then counts it in: nothing is lost', async () => {
      await freezeHolder('claim', 'two-steps');
      const { fencingToken } = await succeed();
      expect(await wake()).toMatchObject({ result: true });
      await account.add(fencingToken);
      expect(await account.look()).toBe(2);
    });

    it('keeps its successor waiting if that is in the middle of its transaction: nothing is lost', async () => {
      await freezeHolder('claim', 'one-transaction');
      const { fencingToken } = await succeed();
      const addition = account.add(fencingToken);
      await database.waiting();
      expect(await wake()).not.toHaveProperty('code');
      await addition;
      expect(await account.look()).toBe(2);
    });

    it('is rolled back after idle_in_transaction_session_timeout, so its successor gets on: nothing is lost', async () => {
      const timeout = encodeURIComponent('-c idle_in_transaction_session_timeout=3s');
      await freezeHolder('claim', 'one-transaction', `${database.server.url}?options=${timeout}`);
      const { fencingToken } = await succeed();
      await account.add(fencingToken);

      expect(await wake()).toMatchObject({ message: expect.stringMatching(/idle-in-transaction|terminat|queryable/) });
      expect(await account.look()).toBe(1);
    });
  });
});
