import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { ChildProcess } from './child-process.js';
import { eventually } from './eventually.js';
import { startRedisNodes, stopAll, RedisServer } from './redis-server.js';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('RedisServer', () => {
  let nodes: RedisServer[] = [];
  const clients: Redis[] = [];
  const connect = (server: RedisServer, port = server.port): Redis => {
    const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 20 });
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };

  beforeAll(async () => {
    nodes = await startRedisNodes(3);
  });

  afterAll(async () => {
    clients.forEach((client) => client.disconnect());
    await stopAll(nodes);
  });

  it('starts independent nodes', async () => {
    await Promise.all(nodes.map((node, index) => connect(node).set('node', index)));
    expect(await Promise.all(nodes.map((node) => connect(node).get('node')))).toEqual(['0', '1', '2']);
    expect(new Set(nodes.map((node) => node.port)).size).toBe(3);
  });

  it('answers nothing while frozen and everything after', async () => {
    const client = connect(nodes[0]!);
    await client.ping();
    nodes[0]!.freeze();
    let answered = false;
    const reply = client.echo('late').finally(() => (answered = true));
    await connect(nodes[1]!).ping();
    expect(answered).toBe(false);
    nodes[0]!.thaw();
    expect(await reply).toBe('late');
  });

  it('comes back empty on the same port after a crash', async () => {
    const [, node] = nodes as [RedisServer, RedisServer];
    const { port, pid } = node;
    await connect(node).set('memory', 'lost');
    await node.kill();
    expect(isAlive(pid)).toBe(false);
    await node.restart();
    expect(node.port).toBe(port);
    expect(await connect(node).get('memory')).toBeNull();
  });

  it('keeps its data over a crash when it is asked to', async () => {
    const node = await RedisServer.start({ appendonly: true });
    try {
      await connect(node).set('memory', 'kept');
      await node.restart();
      expect(await connect(node).get('memory')).toBe('kept');
    } finally {
      await node.stop();
    }
  });

  it('stops while frozen, and more than once', async () => {
    const node = await RedisServer.start();
    node.freeze();
    await node.stop();
    await node.stop();
    expect(isAlive(node.pid)).toBe(false);
  });

  it('says why a server did not start', async () => {
    await expect(RedisServer.start({ args: ['--no-such-option', '1'] })).rejects.toThrow(/no-such-option/);
  });

  it('leaves no server behind, not even a frozen one, when the process that started it is killed', async () => {
    const owner = await ChildProcess.start('test/support/fixtures/server-owner.ts');
    const { pids } = await owner.next<{ pids: number[] }>();
    expect(pids.map(isAlive)).toEqual([true, true]);
    await owner.kill();
    await eventually(() => expect(pids.map(isAlive)).toEqual([false, false]));
  });
});
