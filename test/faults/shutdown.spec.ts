import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, get } from 'node:http';
import { ChildProcess } from '../support/child-process.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import type { RedisServer } from '../support/redis-server.js';
import type { PodOrder, PodReport } from './fixtures/shop-pod.js';
import { Lab, urls } from './lab.js';

const WELL = { code: 0, signal: null };
/** Once Nest has closed the application it lets the signal have its way. */
const TERMINATED = { code: null, signal: 'SIGTERM' };
/** Far beyond the 5 s that a pod of these tests may take: who needs it all hangs. */
const GRACE_MS = 20_000;
const TTL_MS = 1000;
const TICK_SECONDS = 3;
const lab = new Lab();
let server: RedisServer;
const pods: ChildProcess[] = [];

beforeAll(async () => {
  server = (await lab.start(1))[0]!;
});
afterEach(async () => {
  await Promise.all(pods.splice(0).map((pod) => pod.kill()));
  await lab.tidy();
});
afterAll(() => lab.end());

async function start(
  nodes: readonly string[],
  { connections = 'own', seconds = 0 }: { connections?: 'own' | 'user'; seconds?: number } = {},
): Promise<ChildProcess & { url: string }> {
  const pod = await ChildProcess.start(new URL('./fixtures/shop-pod.ts', import.meta.url), {
    args: [nodes.join(), connections, String(seconds)],
  });
  pods.push(pod);
  const { url } = await told(pod, 'ready');
  return Object.assign(pod, { url: url as string });
}

const order = (pod: ChildProcess, what: PodOrder): void => pod.send(what);
const told = (pod: ChildProcess, type: PodReport['type']): Promise<PodReport> =>
  pod.next<PodReport>((report) => report.type === type);

/** All was closed in time, and then it ended. */
async function expectEnd(pod: ChildProcess): Promise<void> {
  await told(pod, 'ended');
  expect(await pod.exited).toEqual(TERMINATED);
}

async function stop(pod: ChildProcess): Promise<void> {
  const exit = pod.stop(GRACE_MS);
  await told(pod, 'ended');
  expect(await exit).toEqual(TERMINATED);
}

describe('A pod that gets SIGTERM', () => {
  it('rejects who waits, finishes its job under its lock, gives that to the next pod at once, and ends', async () => {
    const key = lab.key('job');
    const pod = await start([server.url]);
    const next = await start([server.url]);
    order(pod, { do: 'work', key });
    const { token } = await told(pod, 'works');
    order(pod, { do: 'wait', key, waiters: 5 });
    order(next, { do: 'work', key });

    process.kill(pod.pid, 'SIGTERM');
    for (let waiter = 0; waiter < 5; waiter++) {
      expect(await told(pod, 'waited')).toMatchObject({ outcome: 'LOCK_SHUTDOWN' });
    }
    // Four renewals are more than a ttl: the lock of the job outlives it.
    for (let renewals = 0; renewals < 4; renewals++) await told(pod, 'renewed');
    order(pod, { do: 'finish' });
    const finished = await told(pod, 'finished');
    expect(finished).toMatchObject({ held: true });
    const taken = await told(next, 'works');
    expect(taken['token']).toBeGreaterThan(token as number);
    // It was handed on, and did not run out.
    expect((taken['at'] as number) - (finished['at'] as number)).toBeLessThan(TTL_MS / 2);
    await expectEnd(pod);
    order(next, { do: 'finish' });
  });

  it('runs no tick any more, while the job of one goes on', async () => {
    const pod = await start([server.url], { seconds: 1 });
    const key = lab.key('job');
    order(pod, { do: 'work', key });
    await told(pod, 'works');
    await told(pod, 'ticked');
    order(pod, { do: 'wait', key, waiters: 1 });
    process.kill(pod.pid, 'SIGTERM');
    await told(pod, 'waited');
    const ticked = pod.next<PodReport>(({ type }) => type === 'ticked', 60_000).then(() => 'ticked', () => 'ended'); // prettier-ignore
    for (let renewals = 0; renewals < 10; renewals++) await told(pod, 'renewed');
    order(pod, { do: 'finish' });
    await expectEnd(pod);
    expect(await ticked).toBe('ended');
  });

  it('ends in time when its node went away under a lock and under a wait', async () => {
    const [proxy] = await lab.proxy(server);
    const pod = await start(urls([proxy!]));
    const key = lab.key('job');
    order(pod, { do: 'work', key });
    await told(pod, 'works');
    order(pod, { do: 'wait', key, waiters: 5 });
    proxy!.blackhole();
    await stop(pod);
  });

  it('ends in time when its node never was there', async () => {
    const pod = await start([`redis://127.0.0.1:${await freePort()}`]);
    order(pod, { do: 'wait', key: lab.key('job'), waiters: 5 });
    await stop(pod);
  });

  it('is not held up by a connection that a client keeps for later', async () => {
    const pod = await start([server.url]);
    const agent = new Agent({ keepAlive: true });
    await new Promise<void>((resolve, reject) => {
      get(pod.url, { agent }, (response) => response.resume().on('end', resolve)).on('error', reject);
    });
    await eventually(() => expect(Object.keys(agent.freeSockets)).toHaveLength(1));
    await stop(pod);
    agent.destroy();
  });
});

describe('A pod that closes', () => {
  it('leaves the clients of its user open', async () => {
    const pod = await start([server.url], { connections: 'user' });
    order(pod, { do: 'close' });
    expect(await told(pod, 'closed')).toMatchObject({ answers: ['PONG'] });
    expect(await pod.exited).toEqual(WELL);
  });
});

describe('A rolling deployment of three pods under load', () => {
  it('runs every tick of a job exactly once', async () => {
    const ticks: number[] = [];
    const running: ChildProcess[] = [];
    const listen = async (pod: ChildProcess): Promise<void> => {
      for (;;) {
        const { at } = await told(pod, 'ticked');
        // A tick runs a little late at most, and never early.
        ticks.push(Math.floor((at as number) / (TICK_SECONDS * 1000)));
      }
    };
    const deploy = async (): Promise<void> => {
      const pod = await start([server.url], { seconds: TICK_SECONDS });
      running.push(pod);
      listen(pod).catch(() => undefined); // it has ended
    };
    for (let pod = 0; pod < 3; pod++) await deploy();
    for (let replaced = 0; replaced < 3; replaced++) {
      const before = ticks.length;
      await eventually(() => expect(ticks.length).toBeGreaterThan(before), { timeoutMs: 30_000 });
      await deploy();
      await stop(running.shift()!);
    }
    const before = ticks.length;
    await eventually(() => expect(ticks.length).toBeGreaterThan(before), { timeoutMs: 30_000 });
    const [first] = ticks;
    expect(ticks).toEqual(ticks.map((_, index) => first! + index));
    expect(ticks.length).toBeGreaterThanOrEqual(4);
  }, 120_000);
});
