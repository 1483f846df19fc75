import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect as openSocket, type Socket } from 'node:net';
import { RedisServer } from './redis-server.js';
import { TcpProxy } from './tcp-proxy.js';

describe('TcpProxy', () => {
  let server: RedisServer | undefined;
  let proxy: TcpProxy;
  let sockets: Socket[] = [];

  const open = async (): Promise<Socket> => {
    const socket = openSocket({ port: proxy.port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    return socket;
  };
  const ask = async (socket: Socket, command: string): Promise<string> => {
    socket.write(`${command}\r\n`);
    return String((await once(socket, 'data'))[0]);
  };

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  beforeEach(async () => {
    proxy = await TcpProxy.start(server!.port);
  });
  afterEach(async () => {
    sockets.forEach((socket) => socket.destroy());
    sockets = [];
    await proxy.close();
  });
  afterAll(() => server?.stop());

  it('passes requests and replies', async () => {
    const socket = await open();
    expect(await ask(socket, 'SET a 1')).toBe('+OK\r\n');
    expect(await ask(socket, 'GET a')).toBe('$1\r\n1\r\n');
    expect(proxy.url()).toBe(`redis://127.0.0.1:${proxy.port}`);
  });

  it('delays replies by at least what was asked and keeps their order', async () => {
    const socket = await open();
    const delays = [0.9, 0];
    proxy.delay(50, 150, () => delays.shift() ?? 0);
    const startedAt = performance.now();
    const replied = proxy.replied('$3\r\none');
    let text = '';
    socket.on('data', (bytes) => (text += String(bytes)));
    socket.write('ECHO one\r\n');
    await replied;
    expect(text).toBe('');
    socket.write('ECHO two\r\n');
    while (!text.includes('two')) await once(socket, 'data');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(139);
    expect(text).toBe('$3\r\none\r\n$3\r\ntwo\r\n');
  });

  it('delivers nothing through a black hole, and what it kept afterwards', async () => {
    const socket = await open();
    await ask(socket, 'DEL counter');
    proxy.blackhole();
    const late = await open();
    const received = Promise.all([proxy.received('INCR counter'), proxy.received('PING')]);
    socket.write('INCR counter\r\n');
    late.write('PING\r\n');
    await received;
    expect(await ask(await openDirect(), 'GET counter')).toBe('$-1\r\n');
    const replies = Promise.all([once(socket, 'data'), once(late, 'data')]);
    await proxy.pass();
    expect((await replies).map(([bytes]) => String(bytes))).toEqual([':1\r\n', '+PONG\r\n']);
  });

  it('lets the server execute what the client never hears of', async () => {
    const socket = await open();
    await ask(socket, 'DEL heard');
    proxy.blackhole({ lane: 'replies', drop: true });
    const replied = proxy.replied('+OK');
    socket.write('SET heard no\r\n');
    await replied;
    expect(await ask(await openDirect(), 'GET heard')).toBe('$2\r\nno\r\n');
    const closed = once(socket, 'close');
    await proxy.pass();
    await closed;
    expect(socket.bytesRead).toBe(':0\r\n'.length);
  });

  it('does not tell the client through a black hole that the server closed', async () => {
    const socket = await open();
    let ended = false;
    socket.on('end', () => (ended = true)).resume();
    proxy.blackhole({ lane: 'replies' });
    const goodbye = proxy.replied('+OK');
    socket.write('QUIT\r\n');
    await goodbye;
    expect(ended).toBe(false);
    const end = once(socket, 'end');
    await proxy.pass();
    await end;
  });

  it('refuses connections while it is cut and serves again after', async () => {
    const socket = await open();
    const closed = once(socket, 'close');
    proxy.cut();
    await closed;
    await expect(open()).rejects.toThrow('ECONNREFUSED');
    await proxy.pass();
    expect(await ask(await open(), 'PING')).toBe('+PONG\r\n');
  });

  it('resets present connections only', async () => {
    const socket = await open();
    const failed = once(socket, 'error').then(([error]: Error[]) => error);
    await ask(socket, 'PING');
    proxy.reset();
    expect(await failed).toMatchObject({ code: 'ECONNRESET' });
    expect(await ask(await open(), 'PING')).toBe('+PONG\r\n');
  });

  it('forgets a connection that its client closed', async () => {
    const socket = await open();
    await ask(socket, 'PING');
    expect(proxy.size).toBe(1);
    socket.resume().end();
    await once(socket, 'close');
    while (proxy.size > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('says what did not come', async () => {
    await expect(proxy.received('EVAL', 10)).rejects.toThrow('No requests matching EVAL');
  });

  async function openDirect(): Promise<Socket> {
    const socket = openSocket({ port: server!.port, host: '127.0.0.1' });
    sockets.push(socket);
    await once(socket, 'connect');
    return socket;
  }
});
