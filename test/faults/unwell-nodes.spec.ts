import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { LockBusyError, LockUnavailableError } from '../../lib/errors.js';
import type { LockManager } from '../../lib/lock-manager.js';
import { eventually } from '../support/eventually.js';
import type { RedisServer } from '../support/redis-server.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { address, fences, Lab, on, owners, renewed, urls } from './lab.js';

interface Node {
  readonly server: RedisServer;
  readonly proxy: TcpProxy;
}

interface Fault {
  readonly name: string;
  befall(node: Node): Promise<void> | void;
  end(node: Node): Promise<void> | void;
  /** What the error says of the node. */
  readonly reason: RegExp;
  /** What is sent to the node meanwhile never arrives; else it arrives late, and must be undone. */
  readonly deaf: boolean;
}

const NODE_TIMEOUT_MS = 400;
const UNCONNECTED = /^(not connected|connection lost)/;
const UNANSWERED = /^(no answer within 400 ms|not connected|not answering)/;
const faults: Fault[] = [
  {
    name: 'killed',
    befall: ({ server }) => server.kill(),
    end: ({ server }) => server.restart(),
    reason: UNCONNECTED,
    deaf: true,
  },
  {
    name: 'refusing connections',
    befall: ({ proxy }) => proxy.cut(),
    end: ({ proxy }) => proxy.pass(),
    reason: UNCONNECTED,
    deaf: true,
  },
  {
    name: 'frozen',
    befall: ({ server }) => server.freeze(),
    end: ({ server }) => server.thaw(),
    reason: UNANSWERED,
    deaf: false,
  },
  {
    name: 'black-holed',
    befall: ({ proxy }) => proxy.blackhole(),
    end: ({ proxy }) => proxy.pass(),
    reason: UNANSWERED,
    deaf: false,
  },
  {
    name: 'slower than the time-out',
    befall: ({ proxy }) => proxy.delay(NODE_TIMEOUT_MS * 4),
    end: ({ proxy }) => proxy.pass(),
    reason: UNANSWERED,
    deaf: false,
  },
];

const lab = new Lab();
let servers: RedisServer[];

beforeAll(async () => {
  servers = await lab.start(3);
});
afterEach(() => lab.tidy());
afterAll(() => lab.end());

describe.each(faults)('A node that is $name', (fault) => {
  let nodes: [Node, Node, Node];
  let pod: LockManager;
  let other: LockManager;
  let log: string[];

  beforeEach(async () => {
    const proxies = await lab.proxy(...servers);
    nodes = servers.map((server, index) => ({ server, proxy: proxies[index] })) as [Node, Node, Node];
    log = [];
    // The pod's node time-out is the subject; the other one must only never take the noise of the machine for a fault.
    const options = { nodes: urls(proxies), nodeTimeout: `${NODE_TIMEOUT_MS}ms` };
    pod = await lab.pod({ ...options, log: (message) => log.push(message) });
    other = await lab.pod(options);
  });

  /** A lock on which this node votes as well shows that it takes part again. */
  const vote = async (...voters: Node[]): Promise<void> => {
    await eventually(async () => {
      const key = lab.key('vote');
      await using _ = await pod.acquire(key);
      await eventually(
        async () =>
          expect(
            await owners(
              voters.map(({ server }) => server),
              key,
            ),
          ).not.toContain(null),
        { timeoutMs: 500 },
      );
    });
  };

  it('changes nothing while two of three are well', async () => {
    const [well, alsoWell, unwell] = nodes;
    await fault.befall(unwell);
    const key = lab.key();
    const lock = await pod.acquire(key, { ttl: '3s' });
    await expect(other.acquire(key)).rejects.toBeInstanceOf(LockBusyError);
    await renewed(lock); // by its watchdog
    await lock.renew();
    expect(await lock.release()).toBe(true);
    const next = await other.acquire(key);
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await next.release()).toBe(true);
    expect(await owners([well.server, alsoWell.server], key)).toEqual([null, null]);

    // Nothing of this ended the fault early, and everything of it is undone when the node is back.
    await fault.end(unwell);
    await vote(unwell);
    await eventually(async () => expect(await owners([unwell.server], key)).toEqual([null]));
    if (fault.deaf) expect(await fences([unwell.server], key)).toEqual([null]);
  });

  it('and one more of three: the error names both, within bounded time, until they are back', async () => {
    const [well, unwell, alsoUnwell] = nodes;
    await Promise.all([fault.befall(unwell), fault.befall(alsoUnwell)]);
    const key = lab.key();
    const startedAt = performance.now();
    const error = (await pod.acquire(key).catch((reason: unknown) => reason)) as LockUnavailableError;
    const tookMs = performance.now() - startedAt;
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(new Map(error.causes.map(({ node, reason }) => [node, reason]))).toEqual(
      new Map([unwell, alsoUnwell].map(({ proxy }) => [address(proxy), expect.stringMatching(fault.reason)])),
    );
    for (const { proxy } of [unwell, alsoUnwell]) expect(error.message).toContain(address(proxy));
    // One round costs one time-out, with a wide margin for the machine; the ttl of 30 s is no part of it.
    expect(tookMs).toBeLessThan(NODE_TIMEOUT_MS + 5000);
    await expect(pod.tryAcquire(key)).rejects.toBeInstanceOf(LockUnavailableError);
    await expect(pod.isLocked(key)).rejects.toBeInstanceOf(LockUnavailableError);
    await eventually(async () => expect(await owners([well.server], key)).toEqual([null]));

    await Promise.all([fault.end(unwell), fault.end(alsoUnwell)]);
    await vote(unwell, alsoUnwell);
    await eventually(async () => expect(await owners(servers, key)).toEqual([null, null, null]));
    if (fault.deaf) expect(await fences([unwell.server, alsoUnwell.server], key)).toEqual([null, null]);
    await using lock = await other.acquire(key);
    expect(lock.held).toBe(true);
  });
});

describe('A frozen node', () => {
  it('costs a round whose outcome hangs on it about one node time-out', async () => {
    const [a, b, c] = servers as [RedisServer, RedisServer, RedisServer];
    const pod = await lab.pod({ nodes: urls(servers), nodeTimeout: `${NODE_TIMEOUT_MS}ms` });
    const key = lab.key();
    await on(b, (redis) => redis.set(`lock:{${key}}`, 'another owner', 'PX', 60_000));
    c.freeze();
    // One yes, one no, one silent: only the time-out can end this round.
    const startedAt = performance.now();
    await expect(pod.acquire(key)).rejects.toBeInstanceOf(LockBusyError);
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThanOrEqual(NODE_TIMEOUT_MS - 2);
    expect(tookMs).toBeLessThan(NODE_TIMEOUT_MS + 5000);
    await eventually(async () => expect(await owners([a], key)).toEqual([null]));
  });

  it('gets only so many requests; the locks live on the others, and what piled up is undone', async () => {
    const [a, b, c] = servers as [RedisServer, RedisServer, RedisServer];
    const pod = await lab.pod({ nodes: urls(servers), nodeTimeout: '100ms' });
    c.freeze();
    const keys = Array.from({ length: 120 }, () => lab.key('pile'));
    for (const key of keys) {
      const lock = await pod.acquire(key, { ttl: '10m' });
      expect(await lock.release()).toBe(true);
    }
    c.thaw();
    await eventually(async () => {
      const left = await Promise.all([a, b, c].map((server) => on(server, (redis) => redis.keys('lock:{pile:*}'))));
      expect(left).toEqual([[], [], []]);
    });
  });
});
