import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
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

const OUTAGE_CHECKS = [
  'locks were decided by +REDIS → DRAINING → POSTGRES → .*BOTH → REDIS ',
  'the long job +answered 201',
  'short jobs +\\d+ done',
  "most holders at once +1 of the long job's lock, 1 of the short ones' ",
  'tokens of these locks +rose with each of \\d+ grants',
  'seconds without service +\\d+\\.\\d when Redis went, \\d+\\.\\d at most on the way back',
];

interface Run extends Exit {
  readonly output: string;
  readonly verdict: string;
}

describe('the sample', () => {
  let sample: ManagedProcess | undefined;
  let temporary: string;

  async function start(args: string[], env: Record<string, string> = {}): Promise<ManagedProcess> {
    const { NODE_OPTIONS: _ofJest, DATABASE_URL: _theirs, REDIS_NODES: _too, ...inherited } = process.env;
    sample = await ManagedProcess.start(process.execPath, ['--import', LOADER, 'sample/main.ts', ...args], {
      cwd: ROOT,
      env: { ...inherited, TMPDIR: temporary, ...env },
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

  beforeEach(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'sample-'));
    // Its PostgreSQL may have to run as "nobody".
    await chmod(temporary, 0o755);
  });

  afterEach(async () => {
    await sample?.stop();
    await rm(temporary, { recursive: true, force: true });
    // The pods are in the process group that the sample leads.
    const group = sample?.pid;
    if (group) await eventually(() => expect(() => process.kill(-group, 0)).toThrow('ESRCH'));
    sample = undefined;
  });

  function expectAllWell({ code, output, verdict }: Run, checks = CHECKS): void {
    expect({ code, output }).toEqual({ code: 0, output });
    for (const check of checks) expect(verdict).toMatch(new RegExp(`^${check}.* ok$`, 'm'));
    expect(verdict).not.toContain('VIOLATED');
    expect(output).toContain('write refused');
  }

  /** Of the servers that a run with `--redis` started. */
  async function expectNothingLeft(output: string): Promise<void> {
    const [servers = ''] = /^.*Redlock over .*$/m.exec(output) ?? [];
    const ports = [...servers.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port));
    expect(ports).toHaveLength(4);
    await eventually(async () => {
      expect(await Promise.all(ports.map(isListening))).toEqual(ports.map(() => false));
      expect(await readdir(temporary)).toEqual([]);
    });
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
    'starts servers for pods in processes of their own, tells how locks move to Postgres and back, and leaves nothing behind',
    async () => {
      const once = await run(['--redis', '--once']);

      expectAllWell(once, [...CHECKS, ...OUTAGE_CHECKS]);
      expect(once.output).toMatch(/SIGSTOP to process \d+/);
      expect(once.output).toMatch(/^Every lock, live: http:\/\/127\.0\.0\.1:\d+\/locks$/m);
      expect(once.output).toMatch(
        /kill -9[^]*503 \(LockUnavailableError\)[^]*decided by POSTGRES: [^]*started again[^]*decided by BOTH: \d of 3 [^]*decided by REDIS: /,
      );
      await expectNothingLeft(once.output);
    },
    LIMIT_MS,
  );

  it(
    'ends on Ctrl-C while Redis is away, and leaves nothing behind',
    async () => {
      const child = await start(['--redis']);
      await child.said('decided by DRAINING', LIMIT_MS);
      child.signal('SIGINT');
      const { code, verdict, output } = await end(child);

      expect({ code, verdict }).toEqual({ code: 130, verdict: '' });
      await expectNothingLeft(output);
    },
    LIMIT_MS,
  );

  it(
    'leaves nothing behind even when it is killed',
    async () => {
      const child = await start(['--redis']);
      await child.said('Act 1', LIMIT_MS);
      await child.kill();

      await expectNothingLeft(child.output);
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
          expect(endless.output).toContain('Left out: Redis goes away and comes back');
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
      const { code, verdict, output } = await run(['--redis', '--once'], { SAMPLE_BREAK_LOCK: '1' });

      expect(code).toBe(1);
      const inTheShop = ['ticket A1', 'cards charged', 'balances, so', 'stale write', 'billing at'];
      const inTheOutage = ['locks were decided by', 'short jobs', 'most holders at once', 'tokens of these locks'];
      for (const check of [...inTheShop, ...inTheOutage]) {
        expect(verdict).toMatch(new RegExp(`^${check}.* VIOLATED$`, 'm'));
      }
      await expectNothingLeft(output);
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
