import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LockLostError } from '../../lib/errors.js';
import { ChildProcess } from '../support/child-process.js';
import { eventually } from '../support/eventually.js';
import type { RedisServer } from '../support/redis-server.js';
import { GuardedAccount } from './guarded-account.js';
import { abortedAt, Lab, owners, urls } from './lab.js';

const lab = new Lab();
let servers: RedisServer[];

beforeAll(async () => {
  servers = await lab.start(3);
});
afterEach(() => lab.tidy());
afterAll(() => lab.end());

describe.each([1, 3])('A holder that is cut off from all of %i nodes', (count) => {
  it.each([
    ['black-holed', 'blackhole'],
    ['refused', 'cut'],
  ] as const)('(%s) is told by its deadline, before anyone else is let in', async (_, fault) => {
    const nodes = servers.slice(0, count);
    const proxies = await lab.proxy(...nodes);
    const pod = await lab.pod({ nodes: urls(proxies) });
    const other = await lab.pod({ nodes: urls(nodes) });
    const key = lab.key();
    const first = await pod.acquire(key, { ttl: '2s' });
    const lost = abortedAt(first.signal);
    for (const proxy of proxies) proxy[fault]();
    const cutAt = performance.now();
    const deadline = cutAt + first.remaining;

    const second = await other.acquire(key, { wait: '60s', ttl: '30s' });
    const grantedAt = performance.now();
    const lostAt = await lost;
    expect(lostAt).toBeLessThan(grantedAt);
    expect(lostAt).toBeGreaterThanOrEqual(cutAt);
    // A timer may be late under load, but not by the seconds that waiting for the nodes would take.
    expect(lostAt).toBeLessThan(deadline + 3000);
    expect(first.signal.reason).toBeInstanceOf(LockLostError);
    expect(first.signal.reason).toMatchObject({ reason: 'expired', key });
    expect(first.held).toBe(false);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);

    // What it had still under way, and its release, do nothing to its successor.
    expect(await first.release()).toBe(false);
    await Promise.all(proxies.map((proxy) => proxy.pass()));
    await eventually(async () => void (await (await pod.acquire(lab.key())).release()));
    await second.renew();
    expect(second.held).toBe(true);
    expect(new Set(await owners(nodes, key)).size).toBe(1);
  });
});

describe('A holder that does not run', () => {
  let folder: string;
  let holder: ChildProcess;
  let key: string;
  let token: number;
  let account: GuardedAccount;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holder-'));
    key = lab.key();
    const name = `account of ${key}`;
    account = new GuardedAccount(lab.keep(new Redis(servers[0]!.url)), name);
    holder = await ChildProcess.start(new URL('./fixtures/holder.ts', import.meta.url), {
      args: [urls(servers).join(), key, servers[0]!.url, name, '1500ms'],
    });
    ({ token } = await holder.next<{ token: number }>(({ token }) => token > 0));
  });
  afterEach(async () => {
    await holder.kill();
    await rm(folder, { recursive: true, force: true });
  });

  const looked = (): Promise<object> => holder.next<{ type: string }>(({ type }) => type === 'looked');

  /** Somebody else comes in, reads and writes, and is still at it. */
  const succeed = async (): Promise<{ release(): Promise<boolean> }> => {
    const pod = await lab.pod({ nodes: urls(servers) });
    const second = await pod.acquire(key, { wait: '60s', ttl: '60s' });
    expect(second.fencingToken).toBeGreaterThan(token);
    expect(await account.write(second.fencingToken, 'second')).toBe(true);
    return second;
  };

  /** Whatever the first does from here on, its successor keeps the lock and the account. */
  const expectHarmless = async (second: { release(): Promise<boolean> }): Promise<void> => {
    holder.send({ type: 'write' });
    expect(await holder.next<{ type: string }>(({ type }) => type === 'wrote')).toMatchObject({ accepted: false });
    expect(await account.read()).toBe('second');
    await holder.next<{ type: string }>(({ type }) => type === 'aborted');
    expect(await second.release()).toBe(true);
  };

  it('is the holder while it does run, for longer than its ttl', async () => {
    const pod = await lab.pod({ nodes: urls(servers) });
    const before = (await pod.inspect(key)).remainingMs!;
    let last = before;
    await eventually(async () => {
      const { remainingMs } = await pod.inspect(key);
      const rose = remainingMs! > last;
      last = remainingMs!;
      expect(rose).toBe(true);
    });
    holder.send({ type: 'look' });
    expect(await looked()).toMatchObject({ held: true, remaining: expect.any(Number), abortedAfter: false });
    holder.send({ type: 'write' });
    expect(await holder.next<{ type: string }>(({ type }) => type === 'wrote')).toMatchObject({ accepted: true });
  });

  it('because its event loop is blocked knows it first thing afterwards, before any timer has run', async () => {
    const until = join(folder, 'stop');
    holder.send({ type: 'block', until });
    await holder.next<{ type: string }>(({ type }) => type === 'blocking');
    const second = await succeed();
    await writeFile(until, '');
    expect(await looked()).toMatchObject({
      held: false,
      remaining: 0,
      refusal: 'LOCK_LOST',
      abortedBefore: false, // no timer has run yet
      abortedAfter: true,
    });
    await expectHarmless(second);
  });

  it('because it is frozen past its lease knows it when it wakes', async () => {
    holder.freeze();
    const second = await succeed();
    holder.send({ type: 'look' });
    holder.thaw();
    expect(await looked()).toMatchObject({ held: false, remaining: 0, refusal: 'LOCK_LOST', abortedAfter: true });
    await expectHarmless(second);
  });
});
