import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ChildProcess } from '../support/child-process.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import type { RedisServer } from '../support/redis-server.js';
import type { Order } from './fixtures/worker.js';
import { Lab, owners, urls } from './lab.js';

const WELL = { code: 0, signal: null };
const lab = new Lab();
let servers: RedisServer[];
let worker: ChildProcess | undefined;

beforeAll(async () => {
  servers = await lab.start(3);
});
afterEach(async () => {
  await worker?.kill();
  await lab.tidy();
});
afterAll(() => lab.end());

async function startWorker(nodes: readonly string[], connections: 'own' | 'user' = 'own'): Promise<void> {
  worker = await ChildProcess.start(new URL('./fixtures/worker.ts', import.meta.url), {
    args: [nodes.join(), connections],
  });
  await worker.next<{ type: string }>(({ type }) => type === 'ready');
}

async function tell(order: Order): Promise<Record<string, unknown>> {
  worker!.send(order);
  return worker!.next<{ type: string }>(({ type }) => type === 'done');
}

const acquire = (options: Extract<Order, { do: 'acquire' }>['options'] = {}): Promise<Record<string, unknown>> =>
  tell({ do: 'acquire', key: lab.key(), options });

describe('Errors of connections', () => {
  it('never reach a process whose nodes are not there', async () => {
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    await startWorker(ports.map((port) => `redis://127.0.0.1:${port}`));
    expect(await acquire()).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(await acquire({ wait: '500ms' })).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(await tell({ do: 'shutdown' })).toMatchObject({ shutdown: true });
    expect(await worker!.exited).toEqual(WELL);
    expect(worker!.output).toBe('');
  });

  it('never reach a process whose nodes die, hang and lose connections under it', async () => {
    const proxies = await lab.proxy(...servers);
    const all = (fault: (index: number) => unknown): Promise<unknown> =>
      Promise.all(servers.map(async (_, index) => fault(index)));
    const recovered = (): Promise<void> =>
      eventually(async () => expect(await acquire({ ttl: '1500ms' })).toMatchObject({ held: true }));
    const lost = (): Promise<unknown> => worker!.next<{ type: string }>(({ type }) => type === 'aborted');
    await startWorker(urls(proxies));

    const storms: [befall: (index: number) => unknown, end: (index: number) => unknown][] = [
      [(index) => servers[index]!.kill(), (index) => servers[index]!.restart()],
      [(index) => servers[index]!.freeze(), (index) => servers[index]!.thaw()],
      [(index) => proxies[index]!.cut(), (index) => proxies[index]!.pass()],
      [(index) => proxies[index]!.blackhole({ drop: true }), (index) => proxies[index]!.pass()],
    ];
    for (const [befall, end] of storms) {
      await recovered();
      await all(befall);
      expect(await acquire()).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      await lost();
      expect(await tell({ do: 'release' })).toMatchObject({ released: false });
      expect(await acquire({ wait: '300ms' })).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      await all(end);
    }
    await recovered();
    await all((index) => proxies[index]!.reset());
    await all((index) => servers[index]!.kill());
    expect(await tell({ do: 'shutdown' })).toMatchObject({ shutdown: true });
    expect(await worker!.exited).toEqual(WELL);
    expect(worker!.output).toBe('');
  });
});

describe('A process ends by itself', () => {
  it('when its manager has been shut down', async () => {
    await startWorker(urls(servers));
    expect(await acquire()).toMatchObject({ held: true });
    expect(await tell({ do: 'release' })).toMatchObject({ released: true });
    expect(await tell({ do: 'shutdown' })).toMatchObject({ shutdown: true });
    expect(await worker!.exited).toEqual(WELL);
  });

  it('when its manager has been shut down while the nodes were frozen', async () => {
    await startWorker(urls(servers));
    expect(await acquire({ ttl: '10m' })).toMatchObject({ held: true });
    for (const server of servers) server.freeze();
    expect(await tell({ do: 'shutdown' })).toMatchObject({ shutdown: true });
    expect(await worker!.exited).toEqual(WELL);
  });

  it('with a lock still held, when its user has closed the clients: no timer of a lock keeps it alive', async () => {
    await startWorker(urls(servers), 'user');
    expect(await acquire({ ttl: '10m' })).toMatchObject({ held: true });
    expect(await tell({ do: 'leave' })).toMatchObject({ held: true });
    expect(await worker!.exited).toEqual(WELL);
  });
});

describe('Shutting down', () => {
  const LIMIT_MS = 1500;
  it.each<[string, (server: RedisServer) => unknown]>([
    ['dead', (server) => server.kill()],
    ['frozen', (server) => server.freeze()],
  ])('while all nodes are %s returns within its limit, and tells the holders', async (_, befall) => {
    const pod = await lab.pod({ nodes: urls(servers), nodeTimeout: '20s' });
    const lock = await pod.acquire(lab.key(), { ttl: '10m' });
    await Promise.all(servers.map(async (server) => befall(server)));
    const underWay = pod.acquire(lab.key(), { ttl: '10m' }).catch((error: unknown) => error);
    const startedAt = performance.now();
    await pod.shutdown(LIMIT_MS);
    // The nodes' own time-out is 20 s, the ttl 10 minutes: only the limit can have ended this, give or take the machine.
    expect(performance.now() - startedAt).toBeLessThan(LIMIT_MS + 5000);
    expect(lock.signal.aborted).toBe(true);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'shutdown' });
    await lab.tidy(); // thaws, restarts
    expect(await underWay).toMatchObject({ code: expect.stringMatching(/^LOCK_(UNAVAILABLE|SHUTDOWN)$/) });
  });

  it('gives back what is held, and closes only what is ours', async () => {
    const pod = await lab.pod({ nodes: urls(servers) });
    const key = lab.key();
    const lock = await pod.acquire(key, { ttl: '10m' });
    await pod.shutdown(LIMIT_MS);
    expect(lock.held).toBe(false);
    await eventually(async () => expect(await owners(servers, key)).toEqual([null, null, null]));
    await expect(pod.acquire(key)).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
  });
});
