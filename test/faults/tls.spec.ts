import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockBusyError, LockUnavailableError } from '../../lib/errors.js';
import type { LockManager } from '../../lib/lock-manager.js';
import type { RedisNodeEntry } from '../../lib/stores/redis/redis-client.js';
import { CertificateAuthority, type Certificate } from '../support/certificates.js';
import { ChildProcess } from '../support/child-process.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { RedisServer, stopAll } from '../support/redis-server.js';
import { address, Lab } from './lab.js';

const lab = new Lab();
let authority: CertificateAuthority;
let client: Certificate;
/** It wants a certificate of its clients, too. */
let server: RedisServer;
/** The authority signed it, but for another host. */
let stranger: RedisServer;

/** It listens with TLS alone. */
async function start(certificate: Certificate, clients: 'yes' | 'no'): Promise<RedisServer> {
  const port = await freePort();
  const files = ['--tls-cert-file', certificate.certFile, '--tls-key-file', certificate.keyFile];
  const trust = ['--tls-ca-cert-file', authority.own.certFile, '--tls-auth-clients', clients];
  return RedisServer.start({ port, args: ['--port', '0', '--tls-port', String(port), ...files, ...trust] });
}

beforeAll(async () => {
  authority = await CertificateAuthority.create();
  client = await authority.sign('client');
  server = await start(await authority.sign('server', 'DNS:localhost', 'IP:127.0.0.1'), 'yes');
  stranger = await start(await authority.sign('stranger', 'DNS:elsewhere.test'), 'no');
});
afterEach(() => lab.tidy());
afterAll(async () => {
  await stopAll(server, stranger);
  await authority.remove();
});

const tls = (): object => ({ ca: authority.own.cert, cert: client.cert, key: client.key });

/** What the server is asked of its connections. */
async function list(type: 'normal' | 'pubsub'): Promise<string[]> {
  const redis = new Redis(server.port, '127.0.0.1', { tls: tls() });
  try {
    const text = String(await redis.call('CLIENT', 'LIST', 'TYPE', type));
    return text.trim().split('\n').filter(Boolean);
  } finally {
    redis.disconnect();
  }
}

const entries: [string, () => RedisNodeEntry][] = [
  ['options', () => ({ host: '127.0.0.1', port: server.port, tls: tls() })],
  ["a client of the user's", () => lab.keep(new Redis(`rediss://localhost:${server.port}`, { tls: tls() }))],
];

describe.each(entries)('A node with TLS, given by %s', (_, entry) => {
  async function expectLocking(pod: LockManager, other: LockManager): Promise<void> {
    const key = lab.key();
    const lock = await pod.acquire(key);
    await expect(other.acquire(key)).rejects.toBeInstanceOf(LockBusyError);
    await lock.renew();
    expect(await lock.release()).toBe(true);
  }

  it('is locked on, and who waits is told by a connection that has TLS as well', async () => {
    const [pod, other] = await Promise.all([lab.pod({ nodes: [entry()] }), lab.pod({ nodes: [entry()] })]);
    await expectLocking(pod, other);
    const key = lab.key();
    const lock = await pod.acquire(key);
    const waiting = other.acquire(key, { wait: '10m' });
    await eventually(async () => expect(await list('pubsub')).toHaveLength(1));
    await lock.release();
    expect(await (await waiting).release()).toBe(true);
  });

  it('is connected with TLS again when the connections have been broken', async () => {
    const [pod, other] = await Promise.all([lab.pod({ nodes: [entry()] }), lab.pod({ nodes: [entry()] })]);
    const key = lab.key();
    const lock = await pod.acquire(key);
    const waiting = other.acquire(key, { wait: '10m' });
    await eventually(async () => expect(await list('pubsub')).toHaveLength(1));
    const redis = lab.keep(new Redis(server.port, '127.0.0.1', { tls: tls() }));
    expect(Number(await redis.call('CLIENT', 'KILL', 'TYPE', 'normal'))).toBeGreaterThanOrEqual(2);
    expect(Number(await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub'))).toBe(1);
    await eventually(async () => expect(await list('pubsub')).toHaveLength(1));
    await eventually(() => lock.renew());
    expect(await lock.release()).toBe(true);
    expect(await (await waiting).release()).toBe(true);
  });
});

describe('A URL with rediss', () => {
  async function outcome(url: string, trusted: string): Promise<{ fencingToken?: number; refusal?: string }> {
    const pod = await ChildProcess.start(new URL('./fixtures/lock-once.ts', import.meta.url), {
      args: [url, lab.key()],
      env: { NODE_EXTRA_CA_CERTS: trusted },
    });
    return pod.next();
  }

  let own: RedisServer;
  beforeAll(async () => {
    own = await start(await authority.sign('own', 'DNS:localhost'), 'no');
  });
  afterAll(() => stopAll(own));

  it('leads to a server of an authority that the process trusts', async () => {
    expect(await outcome(`rediss://localhost:${own.port}`, authority.own.certFile)).toEqual({
      fencingToken: expect.any(Number),
    });
  });

  it('of an authority that it does not trust is refused at once, however long there is to wait', async () => {
    const { refusal } = await outcome(`rediss://localhost:${own.port}`, client.certFile);
    expect(refusal).toContain(`localhost:${own.port}: not connected (self-signed certificate in certificate chain)`);
  });
});

describe('A server with TLS', () => {
  it.each<[string, () => RedisServer, () => object, RegExp]>([
    ['that is another host', () => stranger, tls, /does not match certificate's altnames/],
    ['of an authority that is not trusted', () => server, () => ({}), /self-signed certificate in certificate chain/],
  ])('%s is refused at once, and why is said', async (_, which, options, reason) => {
    const pod = await lab.pod({ nodes: [{ host: '127.0.0.1', port: which().port, tls: options() }] });
    await expect(pod.acquire(lab.key(), { wait: '10m' })).rejects.toMatchObject({
      causes: [{ node: address(which()), reason: expect.stringMatching(reason), lasting: true }],
    });
  });

  it('that wants a certificate of its clients is not reached without, nor without TLS', async () => {
    const without = { host: '127.0.0.1', port: server.port };
    const [pod, plain] = await Promise.all([
      lab.pod({ nodes: [{ ...without, tls: { ca: authority.own.cert } }] }),
      lab.pod({ nodes: [without] }),
    ]);
    await expect(pod.acquire(lab.key(), { wait: '10m' })).rejects.toThrow('alert certificate required');
    await expect(plain.acquire(lab.key())).rejects.toBeInstanceOf(LockUnavailableError);
  });
});
