import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockBusyError, LockUnavailableError } from '../../lib/errors.js';
import { eventually } from '../support/eventually.js';
import type { RedisServer } from '../support/redis-server.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { fenceName, fences, Lab, lockName, on, owners, pttls, renewed, urls } from './lab.js';

const lab = new Lab();
const NONE = [null, null, null];
const MARKER = 'lock:marker';
let servers: [RedisServer, RedisServer, RedisServer];

beforeAll(async () => {
  servers = (await lab.start(3)) as typeof servers;
});
afterEach(() => lab.tidy());
afterAll(() => lab.end());

/** Takes the key on one node only, as the remains of an attempt of somebody else do. */
const occupy = (server: RedisServer, key: string): Promise<unknown> =>
  on(server, (redis) => redis.set(lockName(key), 'another owner', 'PX', 600_000));

async function setFence(server: RedisServer, key: string, fence: number): Promise<void> {
  await on(server, (redis) => redis.set(fenceName(key), String(fence), 'PX', 600_000));
}

describe('A refused attempt', () => {
  it('leaves nothing behind on the nodes that granted it', async () => {
    const pod = await lab.pod({ nodes: urls(servers) });
    const key = lab.key();
    await Promise.all([occupy(servers[0], key), occupy(servers[1], key)]);
    await expect(pod.acquire(key, { ttl: '10m' })).rejects.toBeInstanceOf(LockBusyError);
    await eventually(async () => expect(await owners(servers, key)).toEqual(['another owner', 'another owner', null]));
    expect(await fences([servers[2]], key)).toEqual([expect.any(Number)]); // it had been granted there
  });

  it('among five contenders for three nodes leaves nothing behind, and never two winners', async () => {
    const contenders = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const proxies = await lab.proxy(...servers);
        for (const proxy of proxies) proxy.delayRequests(0, 8);
        return lab.pod({ nodes: urls(proxies) });
      }),
    );
    for (let round = 0; round < 12; round++) {
      const key = lab.key('split');
      const outcomes = await Promise.all(contenders.map((pod) => pod.tryAcquire(key, { ttl: '10m' })));
      const winners = outcomes.filter((lock) => lock !== null);
      expect(winners.length).toBeLessThanOrEqual(1);
      if (winners[0]) {
        // Others may have been granted minorities; when they have given these back, only the winner is left.
        await eventually(async () => {
          const left = (await owners(servers, key)).filter((owner) => owner !== null);
          expect(left.length).toBeGreaterThanOrEqual(2);
          expect(new Set(left).size).toBe(1);
        });
        expect(await winners[0].release()).toBe(true);
      }
      await eventually(async () => expect(await owners(servers, key)).toEqual(NONE));
    }
  });

  it('whose grants came too late to count leaves nothing behind either', async () => {
    const proxies = await lab.proxy(...servers);
    const pod = await lab.pod({ nodes: urls(proxies), nodeTimeout: '100ms' });
    for (const proxy of proxies) proxy.delay(1000);
    const key = lab.key();
    const error = await pod.acquire(key, { ttl: '10m' }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockUnavailableError);
    const granted = [expect.any(Number), expect.any(Number), expect.any(Number)];
    await eventually(async () => expect(await fences(servers, key)).toEqual(granted));
    await eventually(async () => expect(await owners(servers, key)).toEqual(NONE));
  });
});

describe('A late "granted"', () => {
  it('of an attempt for which the node had been given up is released on that node', async () => {
    const [a, b, c] = servers;
    const [proxy] = await lab.proxy(c);
    const pod = await lab.pod({ nodes: [a.url, b.url, ...urls([proxy!])], nodeTimeout: '200ms' });
    const key = lab.key();
    await Promise.all([occupy(a, key), occupy(b, key)]);
    proxy!.blackhole({ lane: 'requests' });
    const asked = proxy!.received(lockName(key));
    await expect(pod.acquire(key, { ttl: '10m' })).rejects.toBeInstanceOf(LockBusyError);
    await asked;
    expect(await owners([c], key)).toEqual([null]);
    await proxy!.pass();
    await eventually(async () => {
      expect(await fences([c], key)).toEqual([expect.any(Number)]); // it was granted
      expect(await owners([c], key)).toEqual([null]);
    });
  });
});

describe('A request that is lost with its connection', () => {
  /** An attempt whose request does not arrive, and whose undoing cannot follow it either. */
  const loseAttempt = async (proxy: TcpProxy, attempt: () => Promise<unknown>, key: string): Promise<void> => {
    proxy.blackhole({ lane: 'requests', drop: true });
    const asked = proxy.received(lockName(key));
    const failed = attempt().catch((reason: unknown) => reason);
    await asked;
    proxy.cut();
    expect(await failed).toBeInstanceOf(LockUnavailableError);
    await proxy.pass();
  };

  it('is not sent again on a connection of our own', async () => {
    const [server] = servers;
    const [proxy] = (await lab.proxy(server)) as [TcpProxy];
    const pod = await lab.pod({ nodes: urls([proxy]), nodeTimeout: '300ms' });
    const key = lab.key();
    await loseAttempt(proxy, async () => pod.acquire(key, { ttl: '10m' }), key);
    await eventually(async () => void (await (await pod.acquire(lab.key())).release()));
    expect(await fences([server], key)).toEqual([null]);
  });

  it("leaves no lock if a user's client sends it again by itself", async () => {
    const [server] = servers;
    const [proxy] = (await lab.proxy(server)) as [TcpProxy];
    const client = lab.keep(new Redis(proxy.port, '127.0.0.1', { retryStrategy: () => 20 }));
    client.on('error', () => undefined);
    const pod = await lab.pod({ nodes: [client], nodeTimeout: '300ms' });
    const key = lab.key();
    await loseAttempt(proxy, async () => pod.acquire(key, { ttl: '10m' }), key);
    await eventually(async () => expect(await fences([server], key)).toEqual([expect.any(Number)])); // there it came
    await eventually(async () => expect(await owners([server], key)).toEqual([null]));
    await using lock = await pod.acquire(key);
    expect(lock.held).toBe(true);
  });
});

describe('`minHold` on real nodes', () => {
  it.each([1, 3])('keeps the key of %i nodes taken after the release, for nobody', async (count) => {
    const nodes = servers.slice(0, count);
    const pod = await lab.pod({ nodes: urls(nodes) });
    const other = await lab.pod({ nodes: urls(nodes) });
    const key = lab.key();
    const askedAt = performance.now();
    const lock = await pod.acquire(key, { minHold: '1500ms', ttl: '60s' });
    expect(await lock.release()).toBe(true);
    await eventually(async () => {
      for (const owner of await owners(nodes, key)) expect(owner).toMatch(/^released\//);
    });
    for (const pttl of await pttls(nodes, key)) expect(pttl).toBeLessThanOrEqual(1500);
    await expect(other.acquire(key)).rejects.toMatchObject({ code: 'LOCK_BUSY', retryAfterMs: expect.any(Number) });
    await using next = await other.acquire(key, { wait: '60s' });
    expect(performance.now() - askedAt).toBeGreaterThanOrEqual(1490);
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
  });
});

describe('Several keys together', () => {
  it.each([1, 3])('carry one token on %i nodes, committed to each of them', async (count) => {
    const nodes = servers.slice(0, count);
    const pod = await lab.pod({ nodes: urls(nodes) });
    const quorum = Math.floor(count / 2) + 1;
    const keys = [lab.key(), lab.key(), lab.key()].sort();
    // The keys come with histories of their own; one of them is far ahead of all clocks.
    const ahead = (Date.now() + 3_600_000) * 1000;
    await Promise.all(nodes.map((node) => setFence(node, keys[1]!, ahead)));

    const lock = await pod.acquire(keys);
    expect(lock.fencingToken).toBeGreaterThan(ahead);
    for (const key of keys) {
      const agreeing = (await fences(nodes, key)).filter((fence) => fence === lock.fencingToken);
      expect(agreeing.length).toBeGreaterThanOrEqual(quorum);
    }
    expect(await lock.release()).toBe(true);
    for (const key of keys) {
      await eventually(async () => expect(new Set(await owners(nodes, key))).toEqual(new Set([null])));
      await using next = await pod.acquire(key);
      expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    }
  });

  it.each([1, 3])('are all or none on %i nodes', async (count) => {
    const nodes = servers.slice(0, count);
    const pod = await lab.pod({ nodes: urls(nodes) });
    const [one, two, three] = [lab.key(), lab.key(), lab.key()] as const;
    await using _ = await pod.acquire(two);
    await expect(pod.acquire([one, two, three])).rejects.toMatchObject({ code: 'LOCK_BUSY', key: two });
    for (const key of [one, three]) {
      await eventually(async () => expect(new Set(await owners(nodes, key))).toEqual(new Set([null])));
    }
  });
});

describe('What is on the nodes', () => {
  it('has a ttl, all but the marker: locks their own, fences a retention that outlives them', async () => {
    const nodes = { nodes: urls(servers), quarantine: '500ms' as const };
    const pod = await lab.pod(nodes);
    const other = await lab.pod({ nodes: nodes.nodes });
    const [healed, ahead, kept, several, left] = ['a', 'b', 'c', 'd', 'e'].map((name) => lab.key(name)) as [
      string,
      string,
      string,
      string,
      string,
    ];
    // Each way in which a key is written: granted, renewed, committed, raised, healed, kept, refused, released.
    await setFence(servers[0], ahead, Date.now() * 1000 + 1e12);
    const committed = await other.acquire(ahead);
    expect((await fences(servers, ahead)).filter((fence) => fence === committed.fencingToken).length).toBeGreaterThan(
      1,
    );
    await using _several = await other.acquire([several, lab.key()]);
    const lock = await other.acquire(healed, { ttl: '3s' });
    await renewed(lock);
    await on(servers[1], (redis) => redis.del(lockName(healed), fenceName(healed)));
    await eventually(async () => expect(await owners(servers, healed)).not.toContain(null));
    await (await other.acquire(kept, { minHold: '60s' })).release();
    await (await other.acquire(left)).release();
    await expect(other.acquire(kept)).rejects.toBeInstanceOf(LockBusyError);
    await eventually(async () => void (await (await pod.acquire(lab.key())).release()));

    for (const server of servers) {
      await on(server, async (redis) => {
        const names = await redis.keys('*');
        expect(names).toEqual(expect.arrayContaining([MARKER, lockName(healed), fenceName(healed), fenceName(left)]));
        expect(names).not.toContain(lockName(left));
        for (const name of names) {
          const pttl = await redis.pttl(name);
          if (name === MARKER) expect(pttl).toBe(-1);
          // Those that this file itself wrote have 10 minutes.
          else if (name.endsWith(':fence')) expect(pttl).toBeGreaterThan(500_000);
          else expect(pttl).not.toBe(-1);
        }
        expect(await redis.pttl(fenceName(left))).toBeGreaterThan(86_000_000);
        expect(await redis.pttl(fenceName(healed))).toBeGreaterThan(86_000_000);
        expect(Number(await redis.get(MARKER))).toBeLessThanOrEqual(Date.now());
      });
    }
    expect(lock.held).toBe(true);
    await lock.release();
    await committed.release();
  });

  it('is in the braces of its key, so that no key of a user is the marker', async () => {
    const pod = await lab.pod({ nodes: [servers[0].url] });
    await using lock = await pod.acquire(['marker', 'a{b}%']);
    expect(lock.held).toBe(true);
    const names = await on(servers[0], (redis) => redis.keys('lock:{*}'));
    expect(names).toEqual(expect.arrayContaining(['lock:{marker}', 'lock:{a%7Bb%7D%25}']));
  });
});

describe('A release', () => {
  it('clears the node that was healed and the one that came back as well', async () => {
    const pod = await lab.pod({ nodes: urls(servers) });
    const key = lab.key();
    const [, dead] = servers;
    const lock = await pod.acquire(key, { ttl: '3s' });
    await dead.kill();
    await renewed(lock);
    await renewed(lock); // one node is dead, and the lock lives on
    await dead.restart();
    await eventually(async () => expect(await owners(servers, key)).not.toContain(null), { timeoutMs: 20_000 });
    expect(await lock.release()).toBe(true);
    await eventually(async () => expect(await owners(servers, key)).toEqual(NONE));
  });

  it('is not undone by a renewal that still hears from a node which had lost the key', async () => {
    const [a, b, c] = servers;
    const [proxy] = (await lab.proxy(c)) as [TcpProxy];
    const pod = await lab.pod({ nodes: [a.url, b.url, ...urls([proxy])], nodeTimeout: '10s' });
    const key = lab.key();
    const lock = await pod.acquire(key, { ttl: '10m' });
    await eventually(async () => expect(await owners(servers, key)).not.toContain(null));
    await on(c, (redis) => redis.del(lockName(key)));
    proxy.blackhole({ lane: 'replies' });
    await lock.renew(); // two of three say yes; what the third says is on its way
    expect(await lock.release()).toBe(true);
    await proxy.pass();
    // With one node dead, each lock needs an answer over that connection: the first comes after the one that was late, the second after a heal.
    await a.kill();
    await (await pod.acquire(lab.key())).release();
    await (await pod.acquire(lab.key())).release();
    expect(await owners([b, c], key)).toEqual([null, null]);
  });
});
