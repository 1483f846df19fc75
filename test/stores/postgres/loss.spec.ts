import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { LockUnavailableError } from '../../../lib/errors.js';
import type { PostgresStore } from '../../../lib/stores/postgres/index.js';
import { ChildProcess } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { PostgresLab } from './postgres-lab.js';

const TTL_MS = 60_000;

describe('A Postgres session that ends', () => {
  let lab: PostgresLab;
  const unexpected: unknown[] = [];
  const note = (error: unknown) => void unexpected.push(error);
  beforeAll(async () => {
    process.on('uncaughtException', note).on('unhandledRejection', note);
    lab = await PostgresLab.start();
  }, 60_000);
  afterEach(async () => {
    await lab.endTest();
    await eventually(async () => expect(await lab.advisoryLocks()).toBe(0));
    expect(unexpected).toEqual([]);
  });
  afterAll(async () => {
    process.off('uncaughtException', note).off('unhandledRejection', note);
    await lab?.stop();
  });

  /** Nothing of ours hears the old connection any more; the store works, on one new connection. */
  async function expectRecovery(store: PostgresStore, clients: pg.Client[]): Promise<void> {
    const lost = clients.slice(1, -1);
    await eventually(async () => expect(await store.acquire('next', 'o', TTL_MS)).toMatchObject({ acquired: true }));
    await eventually(() => expect(lost.map((client) => client.eventNames())).toEqual(lost.map(() => [])));
    expect(await store.release('next', 'o')).toBe(true);
    expect(await lab.advisoryLocks()).toBe(0);
  }

  /** Holds a key; `told` resolves when its holder is told. */
  async function hold(store: PostgresStore, ttlMs = TTL_MS): Promise<{ told: Promise<void> }> {
    expect(await store.acquire('k', 'o', ttlMs)).toMatchObject({ acquired: true });
    return { told: new Promise((resolve) => store.onLoss('k', 'o', resolve)) };
  }

  it('terminated: the holder is told by that, and not by a heartbeat', async () => {
    const [store, clients] = await lab.openWatched({ heartbeat: '10s' });
    const { told } = await hold(store);
    await lab.terminate();
    await told;
    await expectRecovery(store, clients);
  });

  it('is told of to who observes the store, and so is the next one', async () => {
    const store = await lab.open({ heartbeat: '10s' });
    const told: string[] = [];
    const stop = store.observe({
      nodeDown: (node, reason) => told.push(`${node} down: ${reason}`),
      nodeUp: (node) => told.push(`${node} up`),
      authorityChanged: () => undefined,
    });
    const node = `postgres 127.0.0.1:${lab.server.port}`;
    await lab.terminate();
    await eventually(() => expect(told).toEqual([expect.stringContaining(`${node} down: `), `${node} up`]));
    stop();
    await lab.terminate();
    await eventually(async () => expect(await store.acquire('k', 'o', TTL_MS)).toMatchObject({ acquired: true }));
    await store.release('k', 'o');
    expect(told).toHaveLength(2);
  });

  it('the server restarted: the holder is told, and what is asked meanwhile is rejected with the reason', async () => {
    const [store, clients] = await lab.openWatched({ heartbeat: '10s' });
    const { told } = await hold(store);
    await lab.server.kill();
    await told;
    for (const asked of [store.acquire('x', 'o', TTL_MS), store.renew('k', 'o', TTL_MS), store.release('k', 'o')]) {
      const error = await asked.catch((reason: unknown) => reason as LockUnavailableError);
      expect(error).toBeInstanceOf(LockUnavailableError);
      const [cause] = (error as LockUnavailableError).causes;
      expect(cause!.node).toBe(`postgres 127.0.0.1:${lab.server.port}`);
      expect(cause!.reason).toMatch(/terminat|closed|ECONN/);
    }
    const node = `postgres 127.0.0.1:${lab.server.port}`;
    const down = { node, state: 'down', reason: expect.any(String) };
    expect(await store.check()).toEqual({ status: 'down', nodes: [down] });
    await lab.server.restart();
    await expectRecovery(store, clients);
    expect(await store.check()).toEqual({
      status: 'up',
      nodes: [{ node, state: 'up', latencyMs: expect.any(Number) }],
    });
  });

  it('cut off without a word: the holder is told while the server still has its key, which then comes free', async () => {
    const proxy = await TcpProxy.start(lab.server.port);
    lab.onEnd(() => proxy.close());
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
    const terms = { heartbeat: '100ms', timeout: '400ms', sessionTimeout: '4s' };
    const [store, clients] = await lab.openWatched(terms, url);
    const { told } = await hold(store);
    proxy.blackhole({ drop: true });
    const asked = store.acquire('x', 'o', TTL_MS);
    await expect(asked).rejects.toThrow(/no answer within 400 ms/);
    await told;
    expect(await lab.advisoryLocks()).toBeGreaterThanOrEqual(1);
    await lab.terminate(); // a ttl of a minute is a minute for the server, too
    await proxy.pass();
    await expectRecovery(store, clients);
  });

  it('cut off while idle: found by a heartbeat', async () => {
    const proxy = await TcpProxy.start(lab.server.port);
    lab.onEnd(() => proxy.close());
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
    const store = await lab.open({ heartbeat: '100ms', timeout: '400ms', sessionTimeout: '600ms' }, url);
    await store.acquire('k', 'o', 1000);
    const told = new Promise<void>((resolve) => store.onLoss('k', 'o', resolve));
    const renewing = setInterval(() => void store.renew('k', 'o', 1000).catch(() => undefined), 10_000);
    proxy.blackhole({ drop: true });
    await told;
    clearInterval(renewing);
    expect(await lab.advisoryLocks()).toBe(1);
    // The server ends the silent session by itself.
    await eventually(async () => expect(await lab.advisoryLocks()).toBe(0));
  });

  it('a paused process: others get the key once its ttl is over, and not before; on waking it is told', async () => {
    const ttlMs = 2500;
    const pod = await ChildProcess.start('test/stores/postgres/fixtures/holder.ts', {
      args: [lab.server.url, 'k', String(ttlMs), '500ms'],
    });
    lab.onEnd(() => pod.kill());
    expect(await pod.next()).toEqual({ acquired: true });
    const other = await lab.open();
    const frozenAt = performance.now();
    pod.freeze();
    await eventually(async () => expect(await other.acquire('k', 'o', TTL_MS)).toMatchObject({ acquired: true }));
    // The last sign of life was at most a heartbeat before, and what the server waits for longer than the ttl covers that.
    expect(performance.now() - frozenAt).toBeGreaterThan(ttlMs);
    pod.thaw();
    expect(await pod.next()).toEqual({ lost: true });
    pod.send('go on');
    expect(await pod.next()).toEqual({ next: true });
  });

  it('is not given up because this process stood still while an answer waited', async () => {
    const [store, clients] = await lab.openWatched({ heartbeat: '50ms', timeout: '200ms', sessionTimeout: '30s' });
    await store.acquire('k', 'o', TTL_MS);
    const asked = store.renew('k', 'o', TTL_MS);
    await Promise.resolve();
    await Promise.resolve();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    expect(await asked).toBe(true);
    expect(clients).toHaveLength(2);
    expect(await store.release('k', 'o')).toBe(true);
  });

  it('is kept by heartbeats for as long as nothing is wrong', async () => {
    const [store, clients] = await lab.openWatched({ heartbeat: '100ms', timeout: '20s', sessionTimeout: '20.1s' });
    await store.acquire('k', 'o', TTL_MS);
    const states = new Set<string>();
    await eventually(async () => {
      const [row] = await lab.rows(
        `select query_start from pg_stat_activity where query like '%pg_backend_pid() as pid%' and pid <> pg_backend_pid()`,
      );
      if (row) states.add(String(row.query_start.getTime()));
      expect(states.size).toBeGreaterThan(4);
    });
    expect(clients).toHaveLength(2);
  });

  it('that no longer has a lock it was to give back is lost as a whole', async () => {
    const store = await lab.open();
    await store.acquire('k', 'o', TTL_MS);
    await store.acquire('other', 'o', TTL_MS);
    const told = new Promise<void>((resolve) => store.onLoss('other', 'o', resolve));
    await lab.rows(`
      create function forget() returns trigger language plpgsql as 'begin perform pg_advisory_unlock_all(); return new; end';
      create trigger forget before insert or update on distributed_lock_fence for each row execute function forget();`);
    lab.onEnd(() => lab.rows('drop function if exists forget cascade'));
    await expect(store.release('k', 'o', 1000)).rejects.toThrow(/no longer had a lock/);
    await told;
    await lab.rows('drop function forget cascade');
  });
});
