import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { ChildProcess } from './child-process.js';
import { eventually } from './eventually.js';
import { isAlive } from './managed-process.js';
import { startRedisNodes, stopAll, RedisServer } from './redis-server.js';

describe('RedisServer', () => {
  let nodes: RedisServer[] = [];

  async function ask<T>(server: RedisServer, question: (client: Redis) => Promise<T>): Promise<T> {
    const client = new Redis({ port: server.port, host: '127.0.0.1', retryStrategy: null });
    const answer = await question(client);
    await client.quit();
    return answer;
  }

  beforeAll(async () => {
    nodes = await startRedisNodes(3);
  });

  afterAll(() => stopAll(nodes));

  it('starts independent nodes', async () => {
    await Promise.all(nodes.map((node, index) => ask(node, (client) => client.set('node', index))));
    expect(await Promise.all(nodes.map((node) => ask(node, (client) => client.get('node'))))).toEqual(['0', '1', '2']);
    expect(new Set(nodes.map((node) => node.port)).size).toBe(3);
  });

  it('answers nothing while frozen and everything after', async () => {
    await ask(nodes[0]!, async (client) => {
      await client.ping();
      nodes[0]!.freeze();
      let answered = false;
      const reply = client.echo('late').finally(() => (answered = true));
      await ask(nodes[1]!, (other) => other.ping());
      expect(answered).toBe(false);
      nodes[0]!.thaw();
      expect(await reply).toBe('late');
    });
  });

  it('comes back empty on the same port after a crash', async () => {
    const [, node] = nodes as [RedisServer, RedisServer];
    const { port, pid } = node;
    await ask(node, (client) => client.set('memory', 'lost'));
    await node.kill();
    expect(isAlive(pid)).toBe(false);
    await node.restart();
    expect(node.port).toBe(port);
    expect(await ask(node, (client) => client.get('memory'))).toBeNull();
  });

  it('keeps its data over a crash when it is asked to', async () => {
    const node = await RedisServer.start({ appendonly: true });
    try {
      await ask(node, (client) => client.set('memory', 'kept'));
      await node.restart();
      expect(await ask(node, (client) => client.get('memory'))).toBe('kept');
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
    const owner = await ChildProcess.start('test/support/fixtures/redis-owner.ts');
    const { pids } = await owner.next<{ pids: number[] }>();
    expect(pids.map(isAlive)).toEqual([true, true]);
    await owner.kill();
    await eventually(() => expect(pids.map(isAlive)).toEqual([false, false]));
  });
});
