import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { RedisClient } from '../../../lib/stores/redis/redis-client.js';
import { connect } from '../../../lib/stores/redis/connection.js';
import { ask as askNode } from './promised.js';
import { RedisNode } from '../../../lib/stores/redis/redis-node.js';
import { Silence } from '../../../lib/stores/redis/silence.js';
import { systemRuntime } from '../../../lib/runtime.js';
import { ManualRuntime } from '../../../lib/testing/manual-runtime.js';
import { eventually } from '../../support/eventually.js';
import { RedisServer } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

const LONGEST_MS = 5000;

class Client extends EventEmitter {
  readonly given: boolean[] = [];
  disconnect(reconnect = false): void {
    this.given.push(reconnect);
  }
}

describe('Silence', () => {
  let runtime: ManualRuntime;
  let client: Client;
  let silence: Silence;
  beforeEach(() => {
    runtime = new ManualRuntime();
    client = new Client();
    silence = new Silence(client as unknown as RedisClient, runtime.timers);
  });

  it('makes a connection anew that left what was overdue without an answer', async () => {
    silence.begin();
    await runtime.advance(LONGEST_MS - 1);
    silence.begin();
    expect(client.given).toEqual([]);
    await runtime.advance(1);
    expect(client.given).toEqual([true]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('makes a connection anew that is up and does not get ready', async () => {
    client.emit('connect');
    await runtime.advance(LONGEST_MS);
    expect(client.given).toEqual([true]);
  });

  it.each(['ready', 'close'])('is over with %s', async (event) => {
    client.emit('connect');
    client.emit(event);
    expect(runtime.pendingTimers).toBe(0);
    await runtime.advance(LONGEST_MS);
    expect(client.given).toEqual([]);
  });

  it('is over with an answer', () => {
    silence.begin();
    silence.end();
    expect(runtime.pendingTimers).toBe(0);
  });
});

describe('A node of our own that is silent', () => {
  it('is connected anew, and serves again though the old connection never does', async () => {
    const server = await RedisServer.start();
    const proxy = await TcpProxy.start(server.port);
    const { client, name, own } = await connect({ host: '127.0.0.1', port: proxy.port }, 0);
    // Half-open connections show only after seconds: here they pass when the test says so.
    const manual = new ManualRuntime();
    const timers = {
      start: (callback: () => void, ms: number, keepAlive?: boolean) =>
        (ms === LONGEST_MS ? manual : systemRuntime).timers.start(callback, ms, keepAlive),
    };
    const terms = { name, own, retentionMs: 60_000, quarantineMs: 0, log: () => undefined };
    const node = new RedisNode(client, terms, timers);
    const ask = () => askNode(node, { verb: 'inspect', key: 'a', owner: '', ms: 0, token: 0 }, 200);
    try {
      await node.whenReady(10_000);
      await eventually(async () => expect(await ask()).toMatchObject({ status: 'no' }));
      proxy.blackhole({ drop: true });
      await expect(ask()).rejects.toThrow('no answer');
      const closed = new Promise((resolve) => client.on('close', resolve));
      await manual.advance(LONGEST_MS);
      await closed;
      await proxy.pass();
      await eventually(async () => {
        // Connections made in the meantime are silent, too.
        await manual.advance(LONGEST_MS);
        expect(await ask()).toMatchObject({ status: 'no' });
      });
    } finally {
      await node.close();
      await proxy.close();
      await server.stop();
    }
  });
});
