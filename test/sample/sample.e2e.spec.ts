import { createConnection } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ManagedProcess, type Exit } from '../support/managed-process.js';
import { PostgresServer } from '../support/postgres-server.js';
import { RedisServer } from '../support/redis-server.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LOADER = new URL('../support/ts-loader.mjs', import.meta.url).href;
const LIMIT_MS = 180_000;

const CHECKS = [
  'ticket A1, 12 buyers at once',
  'cards charged for it',
  'a buyer after the sale',
  'transfers done',
  'sum of the balances',
  'balances, so no update lost',
  'report taken over',
  'stale write of the frozen pod',
  '(billing at|ticks billed exactly once)',
];

interface Run extends Exit {
  readonly output: string;
  readonly verdict: string;
}

describe('the sample', () => {
  let sample: ManagedProcess | undefined;

  async function start(args: string[], env: Record<string, string> = {}): Promise<ManagedProcess> {
    const { NODE_OPTIONS: _ofJest, DATABASE_URL: _theirs, REDIS_NODES: _too, ...inherited } = process.env;
    sample = await ManagedProcess.start(process.execPath, ['--import', LOADER, 'sample/main.ts', ...args], {
      cwd: ROOT,
      env: { ...inherited, ...env },
    });
    return sample;
  }

  async function end(child: ManagedProcess): Promise<Run> {
    const exit = await child.exited;
    return { ...exit, output: child.output, verdict: child.output.split('\nVerdict\n')[1] ?? '' };
  }

  async function run(args: string[], env?: Record<string, string>): Promise<Run> {
    return end(await start(args, env));
  }

  afterEach(async () => {
    await sample?.stop();
    // The pods are in the process group that the sample leads.
    if (sample) expect(() => process.kill(-sample!.pid, 0)).toThrow('ESRCH');
    sample = undefined;
  });

  function expectAllWell({ code, output, verdict }: Run): void {
    expect({ code, output }).toEqual({ code: 0, output });
    for (const check of CHECKS) expect(verdict).toMatch(new RegExp(`^${check}.* ok$`, 'm'));
    expect(verdict).not.toContain('VIOLATED');
    expect(output).toContain('write refused');
  }

  it(
    'runs in one process on the memory store and finds nothing done twice',
    async () => {
      const once = await run(['--once']);

      expectAllWell(once);
      expect(once.output).toContain('one process, memory store · PGlite');
    },
    LIMIT_MS,
  );

  it(
    'starts three Redis servers for three pods in processes of their own, and stops them',
    async () => {
      const once = await run(['--redis', '--once']);

      expectAllWell(once);
      expect(once.output).toMatch(/SIGSTOP to process \d+/);
      const ports = [...once.output.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port));
      expect(ports).toHaveLength(3);
      for (const port of ports) expect(await isListening(port)).toBe(false);
    },
    LIMIT_MS,
  );

  describe('with a real PostgreSQL', () => {
    let postgres: PostgresServer;

    beforeAll(async () => {
      postgres = await PostgresServer.start();
    });

    afterAll(() => postgres?.stop());

    it(
      'writes to it from three processes on Redis nodes that are there already, goes on until Ctrl-C, and then gives its verdict',
      async () => {
        const servers = await Promise.all([RedisServer.start(), RedisServer.start(), RedisServer.start()]);
        try {
          const nodes = servers.map(({ url }) => url).join(',');
          const child = await start([], { DATABASE_URL: postgres.url, REDIS_NODES: nodes });
          await child.said(/(accounts billed[^]*?){5}/, LIMIT_MS);
          child.signal('SIGINT');
          const endless = await end(child);

          expectAllWell(endless);
          expect(endless.output).toMatch(/three processes, Redlock over .* · PostgreSQL/);
          expect(servers.map(({ running }) => running)).toEqual([true, true, true]);
        } finally {
          await Promise.all(servers.map((server) => server.stop()));
        }
      },
      LIMIT_MS,
    );
  });

  it(
    'exits non-zero when the lock lets everyone in',
    async () => {
      const { code, verdict } = await run(['--once'], { SAMPLE_BREAK_LOCK: '1' });

      expect(code).toBe(1);
      for (const check of ['ticket A1', 'cards charged', 'balances, so', 'stale write', 'billing at']) {
        expect(verdict).toMatch(new RegExp(`^${check}.* VIOLATED$`, 'm'));
      }
    },
    LIMIT_MS,
  );

  it(
    'ends on an early Ctrl-C without a verdict',
    async () => {
      const child = await start([]);
      await child.said('Act 1', LIMIT_MS);
      child.signal('SIGINT');
      const { code, verdict } = await end(child);

      expect({ code, verdict }).toEqual({ code: 130, verdict: '' });
    },
    LIMIT_MS,
  );

  it('says which options it knows', async () => {
    const { code, output } = await run(['--twice']);

    expect(code).toBe(1);
    expect(output).toContain("Unknown option '--twice'");
  });
});

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' })
      .once('connect', () => resolve(true))
      .once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
