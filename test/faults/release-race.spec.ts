import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockManager } from '../../lib/lock-manager.js';
import type { Lock } from '../../lib/lock.js';
import type { LockStore } from '../../lib/stores/lock-store.js';
import { connectRedis } from '../../lib/stores/redis/redis.store.js';
import { eventually } from '../support/eventually.js';
import { expectNoTimers, TimerWatch } from '../support/leaks.js';
import type { RedisServer } from '../support/redis-server.js';
import { Lab, on } from './lab.js';
import { RequestTape } from './request-tape.js';

const lab = new Lab();
let servers: RedisServer[];
let watch: TimerWatch;

beforeAll(async () => {
  servers = await lab.start(3);
});
afterEach(async () => {
  watch.stop();
  await lab.tidy();
});
afterAll(() => lab.end());

/** A store that knows which locks' renewals are under way. */
function observed(store: LockStore): LockStore & { renewing: Set<string>; raced: number } {
  const renewing = new Set<string>();
  const observer = {
    renewing,
    raced: 0,
    acquire: store.acquire.bind(store),
    close: store.close!.bind(store),
    renew: (key: string, owner: string, ttlMs: number): Promise<boolean> => {
      renewing.add(key);
      return store.renew(key, owner, ttlMs).finally(() => renewing.delete(key));
    },
    release: (key: string, owner: string, keepForMs?: number): Promise<boolean> => {
      if (renewing.has(key)) observer.raced++;
      return store.release(key, owner, keepForMs);
    },
  };
  return observer;
}

describe('A release that races a renewal', () => {
  const ROUNDS = 1000;
  const TOGETHER = 250;
  const TTL_MS = 6000;

  it(`over ${ROUNDS} rounds with replies of 20 to 50 ms: no false loss, no key, no timer, and nothing sent afterwards`, async () => {
    watch = new TimerWatch();
    const proxies = await lab.proxy(...servers);
    for (const proxy of proxies) proxy.delay(20, 50);
    const tapes = await Promise.all(servers.map(async ({ port }) => lab.keep(await RequestTape.start(port))));
    const nodes = proxies.map(({ port }) => ({ host: '127.0.0.1', port }));
    const store = observed(await connectRedis({ nodes, ttlMs: 30_000, nodeTimeout: '30s', quarantine: 0 }));
    const losses: string[] = [];
    const pod = lab.adopt(new LockManager(store, { log: { warn: (message) => losses.push(message) } }));
    const round = async (index: number): Promise<boolean> => {
      const lock: Lock = await pod.acquire(`race:${index}`, { ttl: `${TTL_MS}ms` });
      if (index % 2 === 0) {
        // The watchdog's own renewal, with all the others that are due: the release falls into it or beside it.
        await sleep(lock.remaining - (TTL_MS * 2) / 3 + Math.random() * 40);
      } else {
        await sleep(Math.random() * 50);
        lock.renew().catch(() => undefined); // that it was released meanwhile is no news
        await sleep(Math.random() * 20);
      }
      expect(lock.held).toBe(true);
      return (await lock.release()) && lock.loss === undefined && !lock.signal.aborted;
    };

    const outcomes: boolean[] = [];
    for (let first = 0; first < ROUNDS; first += TOGETHER) {
      const rounds = Array.from({ length: TOGETHER }, (_, offset) => round(first + offset));
      outcomes.push(...(await Promise.all(rounds)));
    }
    expect(outcomes).toEqual(Array(ROUNDS).fill(true));
    expect(losses).toEqual([]);
    // The rounds did what they are for.
    expect(store.raced).toBeGreaterThan(ROUNDS / 10);

    await eventually(() => expect([...store.renewing]).toEqual([]));
    await eventually(() => expectNoTimers(watch, '/lib/'));
    for (const server of servers) {
      const names = await on(server, (redis) => redis.keys('lock:*'));
      expect(names.filter((name) => !name.endsWith(':fence'))).toEqual([]);
    }

    // Long enough for a renewal that somebody forgot to stop.
    await sleep(TTL_MS / 3);
    for (const { requests } of tapes) {
      const released = new Set<string>();
      const afterwards = requests.filter(({ lock, release }) => {
        if (release) released.add(lock);
        return !release && released.has(lock);
      });
      expect(afterwards).toEqual([]);
      expect(released.size).toBe(ROUNDS);
      // Beside the grants there were renewals.
      expect(requests.length - released.size).toBeGreaterThan(ROUNDS);
    }
  });
});
