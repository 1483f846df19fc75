import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { LockBusyError, LockLostError, LockUnavailableError } from '../../lib/errors.js';
import type { Lock } from '../../lib/lock.js';
import { eventually } from '../support/eventually.js';
import type { RedisServer } from '../support/redis-server.js';
import { abortedAt, address, fences, Lab, on, owners, urls } from './lab.js';

const lab = new Lab();
const NONE = [null, null, null];
let servers: [RedisServer, RedisServer, RedisServer];

beforeAll(async () => {
  servers = (await lab.start(3)) as typeof servers;
});
afterEach(() => lab.tidy());
afterAll(() => lab.end());

const everywhere = (...command: [string, ...string[]]): Promise<unknown> =>
  Promise.all(servers.map((server) => on(server, (redis) => redis.call(...command))));

/** The end of the quarantine, out of the words in which the error tells it. */
function quarantineEnd(error: unknown, server: RedisServer): number {
  expect(error).toBeInstanceOf(LockUnavailableError);
  const { causes } = error as LockUnavailableError;
  const reason = causes.find(({ node }) => node === address(server))?.reason;
  expect(reason).toMatch(/^in quarantine until \d{4}-\d\d-\d\dT[\d:.]+Z, since it came up empty$/);
  return Date.parse(/until (\S+),/.exec(reason!)![1]!);
}

describe('A node that comes back empty', () => {
  it('gets the locks back by renewals while they are held, with their fences, and loses them with the release', async () => {
    const pod = await lab.pod({ nodes: urls(servers) });
    const key = lab.key();
    const lock = await pod.acquire(key, { ttl: '3s' });
    const [owner] = await owners(servers, key);
    for (const server of servers) {
      await server.restart();
      await eventually(async () => expect(await owners(servers, key)).toEqual([owner, owner, owner]));
      expect(await fences(servers, key)).toEqual([lock.fencingToken, lock.fencingToken, lock.fencingToken]);
    }
    // By now no node is left that ever granted it.
    expect(lock.held).toBe(true);
    expect(await lock.release()).toBe(true);
    await eventually(async () => expect(await owners(servers, key)).toEqual(NONE));
    await using next = await pod.acquire(key);
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
  });

  it('gives no vote until its quarantine is over; the error names it and until when', async () => {
    const [, restarted, dead] = servers;
    const pod = await lab.pod({ nodes: urls(servers), quarantine: '2s' });
    await eventually(async () => void (await (await pod.acquire(lab.key())).release()));
    await dead.kill();
    await restarted.restart();
    let error: unknown;
    await eventually(async () => {
      error = await pod.acquire(lab.key()).catch((reason: unknown) => reason);
      expect(quarantineEnd(error, restarted)).toBeGreaterThan(Date.now());
    });
    const end = quarantineEnd(error, restarted);
    expect((error as LockUnavailableError).causes.map(({ node }) => node).sort()).toEqual(
      [restarted, dead].map(address).sort(),
    );
    await eventually(async () => {
      await using _ = await pod.acquire(lab.key());
      expect(Date.now()).toBeGreaterThanOrEqual(end - 1); // the server rounds to a ms
    });
  });

  it('does not let a second holder in beside the first, whose other node is out of reach', async () => {
    const [witness, restarted, late] = servers;
    const pod = await lab.pod({ nodes: urls(servers), quarantine: '3s' });
    const key = lab.key();
    await eventually(async () => void (await (await pod.acquire(lab.key())).release()));
    await late.kill();
    const first = await pod.acquire(key, { ttl: '3s', autoRenew: false });
    const lost = abortedAt(first.signal);
    expect((await owners([witness, restarted], key)).includes(null)).toBe(false);
    // Now two of three know nothing of the lock, and only the witness does.
    await Promise.all([late.restart(), restarted.restart()]);
    const other = await lab.pod({ nodes: urls(servers), quarantine: '3s' });
    const second = await other.acquire(key, { wait: '60s' });
    const grantedAt = performance.now();
    expect(first.held).toBe(false);
    expect(await lost).toBeLessThan(grantedAt);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
  });
});

describe('FLUSHALL on all nodes', () => {
  it('under a held lock: its holder is told, nobody gets in before the quarantine is over, and tokens still rise', async () => {
    const nodes = { nodes: urls(servers), quarantine: '3s' as const };
    const pod = await lab.pod(nodes);
    const other = await lab.pod(nodes);
    const key = lab.key();
    let first!: Lock;
    await eventually(async () => void (first = await pod.acquire(key, { ttl: '3s' })));
    const lost = abortedAt(first.signal);
    await expect(other.acquire(key)).rejects.toBeInstanceOf(LockBusyError);
    await everywhere('FLUSHALL');
    const error: unknown = await other.acquire(key).catch((reason: unknown) => reason);
    const named = servers.filter((server) => (error as LockUnavailableError).message.includes(address(server)));
    expect(named.length).toBeGreaterThanOrEqual(2); // two suffice to decide
    const end = Math.min(...named.map((server) => quarantineEnd(error, server)));

    const second = await other.acquire(key, { wait: '60s' });
    const grantedAt = performance.now();
    expect(Date.now()).toBeGreaterThanOrEqual(end - 1);
    expect(await lost).toBeLessThan(grantedAt);
    expect(first.signal.reason).toBeInstanceOf(LockLostError);
    expect(first.signal.reason).toMatchObject({ reason: 'taken', key, fencingToken: first.fencingToken });
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    expect(await first.release()).toBe(false);
    expect(second.held).toBe(true);
    expect(new Set(await owners(servers, key)).size).toBe(1);
  });

  it('never brings a lost lock back: what only a minority has is not healed', async () => {
    const pod = await lab.pod({ nodes: urls(servers) });
    const key = lab.key();
    const lock = await pod.acquire(key);
    for (const server of servers.slice(1)) await on(server, (redis) => redis.flushall());
    await expect(lock.renew()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'taken' });
    expect(lock.held).toBe(false);
    expect((await owners(servers.slice(1), key)).every((owner) => owner === null)).toBe(true);
    await lock.release();
    await eventually(async () => expect(await owners(servers, key)).toEqual(NONE));
  });

  it('or empty restarts do not make tokens fall, with no quarantine either', async () => {
    const pod = await lab.pod({ nodes: urls(servers) });
    const key = lab.key();
    let last = 0;
    const take = async (): Promise<void> => {
      const lock = await pod.acquire(key);
      expect(lock.fencingToken).toBeGreaterThan(last);
      last = lock.fencingToken;
      await lock.release();
    };
    for (let round = 0; round < 5; round++) {
      await take();
      await everywhere('FLUSHALL');
    }
    await Promise.all(servers.map((server) => server.restart()));
    await eventually(take);
  });
});

describe('SCRIPT FLUSH', () => {
  it.each([1, 3])('goes unseen by the locks on %i nodes', async (count) => {
    const nodes = urls(servers).slice(0, count);
    const pod = await lab.pod({ nodes });
    const keys = [lab.key(), lab.key()];
    await everywhere('SCRIPT', 'FLUSH');
    const lock = await pod.acquire(keys);
    await everywhere('SCRIPT', 'FLUSH');
    await expect(pod.acquire(keys)).rejects.toBeInstanceOf(LockBusyError);
    await everywhere('SCRIPT', 'FLUSH');
    await lock.renew();
    await everywhere('SCRIPT', 'FLUSH');
    expect(await pod.inspect(keys[0]!)).toMatchObject({ locked: true, fencingToken: lock.fencingToken });
    await everywhere('SCRIPT', 'FLUSH');
    expect(await lock.release()).toBe(true);
    await eventually(async () => expect(await owners(servers, keys[0]!)).toEqual(NONE));
  });
});
