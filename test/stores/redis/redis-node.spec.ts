import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { systemRuntime } from '../../../lib/runtime.js';
import { connect } from '../../../lib/stores/redis/connection.js';
import type { NodeReply, NodeRequest } from '../../../lib/stores/redis/lock-node.js';
import type { StoreObserver } from '../../../lib/stores/store-observer.js';
import { ask as askNode } from './promised.js';
import { RedisNode } from '../../../lib/stores/redis/redis-node.js';
import { eventually } from '../../support/eventually.js';
import { expectNoTimers, TimerWatch } from '../../support/leaks.js';
import { RedisServer, stopAll } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

const SLOW = 30_000;
const SOON = 30;
const TTL_MS = 3_600_000;
const SCRIPT = 'evalsha';

let server: RedisServer;
let admin: Redis;
let proxy: TcpProxy;
let node: RedisNode;
let logged: string[];
/** Closed after each test, also one that failed: what stays open keeps the test runner from ending. */
let opened: RedisNode[];
let clients: Redis[];

beforeAll(async () => {
  server = await RedisServer.start();
  admin = new Redis(server.port, '127.0.0.1');
});
afterAll(async () => {
  admin?.disconnect();
  await stopAll(server);
});
beforeEach(async () => {
  await admin.flushall();
  logged = [];
  opened = [];
  clients = [];
  proxy = await TcpProxy.start(server.port);
  node = await open();
});
afterEach(async () => {
  await Promise.all(opened.map((each) => each.close()));
  clients.forEach((client) => client.disconnect());
  await proxy.close();
});

async function open(port = proxy.port): Promise<RedisNode> {
  const { client, name, own } = await connect({ host: '127.0.0.1', port }, 0);
  const connected = over(client as unknown as Redis, own, name);
  await connected.whenReady(SLOW);
  return connected;
}

function over(client: Redis, own: boolean, name = 'n1'): RedisNode {
  const log = (message: string): void => void logged.push(message);
  clients.push(client);
  const made = new RedisNode(client, { name, own, retentionMs: TTL_MS, quarantineMs: 0, log }, systemRuntime.timers);
  opened.push(made);
  return made;
}

function acquire(key: string, owner = 'x'): NodeRequest {
  return { verb: 'acquire', key, owner, ms: TTL_MS, token: 0 };
}

/** How often a command ran on the server. */
async function calls(command: string): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

async function callsDuring(work: () => Promise<unknown>): Promise<number> {
  const before = await calls(SCRIPT);
  await work();
  return (await calls(SCRIPT)) - before;
}

describe('RedisNode', () => {
  describe('with many requests', () => {
    const ask = (count: number): Promise<NodeReply[]> =>
      Promise.all(Array.from({ length: count }, (_, i) => askNode(node, acquire(`k${i}`), SLOW)));

    it('sends the first of a tick at once, and the rest of the tick as one script', async () => {
      expect(await callsDuring(() => ask(30))).toBe(2);
      expect(await admin.dbsize()).toBe(60);
    });

    it('sends more before the tick is over, half of what is under way at a time, so that the node works meanwhile', async () => {
      // 1, 32, 33, 66 and what is left.
      expect(await callsDuring(() => ask(200))).toBe(5);
    });

    it('sends the first of a tick with the others when the tick before asked for several, too', async () => {
      await ask(5);
      expect(await callsDuring(() => ask(5))).toBe(1);
      await ask(1);
      expect(await callsDuring(() => ask(5))).toBe(2);
    });

    it('keeps together what is asked for together, however much else the tick asks for', async () => {
      const together = async (): Promise<void> => {
        const others = ask(25);
        node.cork();
        const asked = ask(70);
        node.uncork();
        await Promise.all([others, asked, ask(25)]);
      };
      // The first one, the 24 others, the 70 as one, the next one, the last 24.
      expect(await callsDuring(together)).toBe(5);
    });

    it('sends what is asked for together as one script', async () => {
      const together = async (): Promise<void> => {
        node.cork();
        const asked = ask(200);
        node.uncork();
        await asked;
      };
      expect(await callsDuring(together)).toBe(1);
      expect(await admin.dbsize()).toBe(400);
    });

    it('gives each the reply that is its own', async () => {
      await admin.set('lock:{k7}', 'someone', 'PX', TTL_MS);
      await admin.set('lock:{k8}:fence', 41);
      const replies = await ask(10);
      expect(replies.map(({ status }) => status)).toEqual([...Array(7).fill('yes'), 'no', 'yes', 'yes']);
      expect(replies[8]!.value).toBe(42);
    });

    it('sends two ticks apart as two', async () => {
      const twice = async (): Promise<void> => {
        const first = askNode(node, acquire('a'), SLOW);
        await turn();
        await Promise.all([first, askNode(node, acquire('b'), SLOW)]);
      };
      expect(await callsDuring(twice)).toBe(2);
    });

    it.each([
      [1, 1],
      [300, 6],
      [800, 8],
      [2000, 12],
    ])('sends %i of one tick as %i scripts, of 256 at most', async (requests, scripts) => {
      expect(await callsDuring(() => ask(requests))).toBe(scripts);
      expect(await admin.dbsize()).toBe(requests * 2);
    });
  });

  it('rejects what has no answer in time, and hands the answer on when it comes', async () => {
    proxy.blackhole();
    const late: NodeReply[] = [];
    const heard = new Promise<void>((resolve) => {
      const sent = askNode(node, acquire('a'), SOON, (reply) => resolve(void late.push(reply)));
      sent.catch(() => undefined);
      void expect(sent)
        .rejects.toThrow(`no answer within ${SOON} ms`)
        .then(() => proxy.pass());
    });
    await heard;
    expect(late).toEqual([{ status: 'yes', value: 1 }]);
    expect(await admin.get('lock:{a}')).toBe('x');
  });

  it('tells an answer in time to the caller only', async () => {
    const late: NodeReply[] = [];
    expect(await askNode(node, acquire('a'), SLOW, (reply) => late.push(reply))).toEqual({ status: 'yes', value: 1 });
    expect(late).toEqual([]);
  });

  it('judges each request by its own time-out, also within one script', async () => {
    proxy.blackhole();
    const patient = askNode(node, acquire('a'), SLOW);
    await expect(askNode(node, acquire('b'), SOON)).rejects.toThrow('no answer within');
    await proxy.pass();
    expect(await patient).toEqual({ status: 'yes', value: 1 });
  });

  it('fails at once, and says why, while it is not connected', async () => {
    proxy.cut();
    await eventually(() => expect(logged).toHaveLength(1));
    expect(logged[0]).toContain('out of reach');
    await eventually(() =>
      expect(askNode(node, acquire('a'), SLOW)).rejects.toThrow(/^not connected \(.*ECONNREFUSED/),
    );
    await proxy.pass();
    await node.whenReady(SLOW);
    // Nothing that was asked meanwhile was kept to be sent later.
    expect(await admin.exists('lock:{a}')).toBe(0);
    expect(await askNode(node, acquire('a'), SLOW)).toEqual({ status: 'yes', value: 1 });
    expect(logged[1]).toContain('connected again');
  });

  it('tells of no failure before the others have been asked as well', async () => {
    // Or an attempt would be given up, and undone, at nodes that it has yet to ask.
    const away = over(new Redis(1, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null }), true, 'away');
    const told: string[] = [];
    const failed = new Promise<void>((resolve) => {
      const tell = (): void => {
        told.push('failed');
        resolve();
      };
      away.send(acquire('a'), SLOW, { answered: tell, failed: tell, late: tell });
    });
    told.push('asked');
    await failed;
    expect(told).toEqual(['asked', 'failed']);
  });

  it('rejects what is under way when the connection breaks, and does not send it again', async () => {
    proxy.blackhole();
    const asked = proxy.received(/evalsha/i);
    const sent = askNode(node, acquire('a'), SLOW);
    sent.catch(() => undefined);
    await asked;
    proxy.cut();
    await expect(sent).rejects.toThrow(/connection|reset/i);
    await proxy.pass();
    await node.whenReady(SLOW);
    expect(await askNode(node, acquire('b'), SLOW)).toMatchObject({ status: 'yes' });
    expect(await admin.exists('lock:{a}')).toBe(0);
  });

  it('sends nothing more to a node that leaves too much unanswered, until it answers', async () => {
    proxy.blackhole();
    for (let script = 0; script < 64; script++) {
      askNode(node, acquire(`k${script}`), 1).catch(() => undefined);
      await turn();
    }
    await eventually(() => expect(askNode(node, acquire('more'), 1)).rejects.toThrow('not answering'));
    await proxy.pass();
    await eventually(async () => expect(await askNode(node, acquire('again'), SLOW)).toMatchObject({ status: 'yes' }));
    expect(await admin.exists('lock:{k0}', 'lock:{k63}')).toBe(2);
  });

  it('is out while it is not connected', async () => {
    expect(node.out).toBe(false);
    proxy.cut();
    await eventually(() => expect(node.out).toBe(true));
    await proxy.pass();
    await node.whenReady(SLOW);
    expect(node.out).toBe(false);
  });

  it('is out from the first answer that is overdue until one comes in time, and is not asked then if it can be spared', async () => {
    proxy.delay(4 * SOON);
    const late: NodeReply[] = [];
    await expect(askNode(node, acquire('a'), SOON, (reply) => late.push(reply))).rejects.toThrow('no answer');
    expect(node.out).toBe(true);
    const spared = new Promise((resolve) =>
      node.send(acquire('b'), SLOW, { answered: resolve, late: resolve, failed: (_, why) => resolve(why) }, true),
    );
    expect(await spared).toBe('not answering');
    expect(await askNode(node, acquire('c'), SLOW)).toMatchObject({ status: 'yes' });
    await eventually(() => expect(late).toHaveLength(1));
    await proxy.pass();
    await eventually(() => expect(node.out).toBe(false));
    expect(await admin.exists('lock:{b}')).toBe(0);
    expect(await admin.exists('lock:{c}')).toBe(1);
  });

  it('tells who observes it when it goes and comes, and those who come meanwhile at once', async () => {
    const told: string[] = [];
    const observer = (who: string): StoreObserver => ({
      nodeDown: (name, reason) => told.push(`${who}: ${name} down, ${reason}`),
      nodeUp: (name) => told.push(`${who}: ${name} up`),
      authorityChanged: () => undefined,
    });
    const stop = node.observe(observer('first'));
    expect(told).toEqual([]);
    proxy.cut();
    await eventually(() => expect(told).toEqual([expect.stringMatching(/^first: .* down, /)]));
    node.observe(observer('second'));
    expect(told).toEqual([expect.anything(), expect.stringMatching(/^second: .* down, /)]);
    await proxy.pass();
    await eventually(() => expect(told.slice(2)).toEqual([`first: ${node.name} up`, `second: ${node.name} up`]));

    stop();
    proxy.delay(4 * SOON);
    await expect(askNode(node, acquire('a'), SOON)).rejects.toThrow('no answer');
    expect(told.slice(4)).toEqual([`second: ${node.name} down, not answering`]);
    await proxy.pass();
    await eventually(() => expect(told.slice(5)).toEqual([`second: ${node.name} up`]));
  });

  it('finds out by itself, with one question at a time, whether it answers in time again', async () => {
    proxy.delay(4 * SOON);
    await expect(askNode(node, acquire('a'), SOON)).rejects.toThrow('no answer');
    const before = await calls(SCRIPT);
    const start = performance.now();
    for (let question = 0; question < 3; question++) await proxy.replied(':0');
    const most = Math.ceil((performance.now() - start) / (4 * SOON)) + 1;
    expect((await calls(SCRIPT)) - before).toBeLessThanOrEqual(most);
    expect(node.out).toBe(true);
    await proxy.pass();
    await eventually(() => expect(node.out).toBe(false));
  });

  it('takes an answer that lies in the socket when a blocked process finds its time-out over', async () => {
    const late: NodeReply[] = [];
    // Without the proxy, which lives in this process and would be blocked with it.
    const direct = await open(server.port);
    const sent = askNode(direct, acquire('a'), 40, (reply) => late.push(reply));
    await new Promise<void>(process.nextTick);
    block(200);
    expect(await sent).toEqual({ status: 'yes', value: 1 });
    expect(late).toEqual([]);
  });

  it('leaves the user’s client open, without a trace on it, and closes its own', async () => {
    const client = new Redis(proxy.port, '127.0.0.1');
    await once(client, 'ready');
    const listeners = (): number[] => ['error', 'close', 'ready'].map((event) => client.listenerCount(event));
    const before = listeners();
    const theirs = over(client, false);
    expect(await askNode(theirs, acquire('a'), SLOW)).toMatchObject({ status: 'yes' });
    await theirs.close();
    expect(client.status).toBe('ready');
    expect(await client.ping()).toBe('PONG');
    expect(listeners()).toEqual(before);
    client.disconnect();

    const own = new Redis(proxy.port, '127.0.0.1');
    await once(own, 'ready');
    const ended = once(own, 'end');
    await over(own, true).close();
    await ended;
    expect(own.status).toBe('end');
  });

  it('connects a lazy client of the user', async () => {
    const client = new Redis(proxy.port, '127.0.0.1', { lazyConnect: true });
    const theirs = over(client, false);
    expect(await theirs.whenReady(SLOW)).toBe(true);
    expect(await askNode(theirs, acquire('a'), SLOW)).toMatchObject({ status: 'yes' });
    await theirs.close();
    client.disconnect();
  });

  it('keeps `error` events of its connection from the process', async () => {
    const escaped: unknown[] = [];
    const listen = (error: unknown): void => void escaped.push(error);
    process.on('uncaughtException', listen).on('unhandledRejection', listen);
    try {
      proxy.cut();
      await eventually(() => expect(logged).toHaveLength(1));
      // A few failed attempts to connect: each is an event of its own, and one line in the log is enough.
      await eventually(() => expect(askNode(node, acquire('a'), SLOW)).rejects.toThrow('ECONNREFUSED'));
      const unreachable = over(new Redis(proxy.port, '127.0.0.1', { retryStrategy: () => null }), true, 'n2');
      expect(await unreachable.whenReady(100)).toBe(false);
      await unreachable.close();
      await turn();
    } finally {
      process.off('uncaughtException', listen).off('unhandledRejection', listen);
    }
    expect(escaped).toEqual([]);
    expect(logged.filter((line) => line.includes('out of reach'))).toHaveLength(2);
  });

  it('leaves no timer behind after a close, whatever was under way', async () => {
    const watch = new TimerWatch();
    const busy = await open();
    proxy.blackhole();
    const sent = [askNode(busy, acquire('a'), SLOW), askNode(busy, acquire('b'), TTL_MS)];
    const outcomes = Promise.allSettled(sent);
    await turn();
    await busy.close();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expectNoTimers(watch, '/lib/');
    watch.stop();
  });
});

/** Nothing else runs in this process meanwhile. */
function block(ms: number): void {
  for (const start = performance.now(); performance.now() - start < ms;);
}
