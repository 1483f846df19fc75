import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer } from '../../scripts/find-servers.mjs';
import { freePort } from './free-port.js';
import { LEAST_RULES, LOCKS_USER, LOGIN } from './least-user.js';
import { ManagedProcess, removeFolder } from './managed-process.js';

export interface RedisServerOptions {
  port?: number;
  /** More arguments for redis-server, such as `['--requirepass', 'secret']`. */
  args?: string[];
  /** Keep every write on disk, so that a restart finds it again. Default: false, a restart is an empty node. */
  appendonly?: boolean;
}

/** A real redis-server on a loopback port, which ends with the process that started it. */
export class RedisServer {
  private constructor(
    readonly port: number,
    private readonly options: RedisServerOptions,
    private readonly folder: string,
    private process: ManagedProcess,
  ) {}

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    for (let attemptsLeft = 5; ; attemptsLeft--) {
      const port = options.port ?? (await freePort());
      const folder = await mkdtemp(join(tmpdir(), 'redis-'));
      try {
        return new RedisServer(port, options, folder, await launch(port, folder, options));
      } catch (error) {
        await removeFolder(folder);
        if (options.port !== undefined || attemptsLeft === 0 || !/in use/i.test(String(error))) throw error;
      }
    }
  }

  /** Where locks go: as the least user, if the tests run so. */
  get url(): string {
    return `redis://${LOGIN}127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.process.pid;
  }

  get running(): boolean {
    return this.process.running;
  }

  /** What the server logged, for failing tests. */
  get log(): string {
    return this.process.output;
  }

  /** A graceful end; also of a frozen server. Calling it again does nothing. */
  async stop(): Promise<void> {
    await this.process.stop();
    await removeFolder(this.folder);
  }

  /** SIGKILL, as a crash. `restart` brings the server back. */
  async kill(): Promise<void> {
    await this.process.kill();
  }

  /** The server hangs: connections stay open, nothing is answered. */
  freeze(): void {
    this.process.freeze();
  }

  thaw(): void {
    this.process.thaw();
  }

  /** Kills the server if it runs and starts it on the same port: empty, unless it is `appendonly`. */
  async restart(): Promise<void> {
    await this.process.kill();
    this.process = await launch(this.port, this.folder, this.options);
  }
}

export async function startRedisNodes(count: number, options: RedisServerOptions = {}): Promise<RedisServer[]> {
  return Promise.all(Array.from({ length: count }, () => RedisServer.start(options)));
}

/** Takes what `beforeAll` may have failed to start, so that `afterAll` can call it blindly. */
export async function stopAll(...servers: (RedisServer | undefined | (RedisServer | undefined)[])[]): Promise<void> {
  await Promise.all(servers.flat().map(async (server) => server?.stop()));
}

const USER = LOGIN ? ['--user', LOCKS_USER.username, 'on', `>${LOCKS_USER.password}`, ...LEAST_RULES] : [];

async function launch(
  port: number,
  folder: string,
  { args = [], appendonly = false }: RedisServerOptions,
): Promise<ManagedProcess> {
  const binary = findRedisServer();
  if (!binary) throw new Error('redis-server was not found: run `node scripts/setup.mjs`');
  const persistence = appendonly ? ['yes', '--appendfsync', 'always'] : ['no'];
  const process = await ManagedProcess.start(
    binary,
    [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
      ...['--appendonly', ...persistence, '--daemonize', 'no', ...USER, ...args],
    ],
    { ownFolder: folder, cwd: folder },
  );
  await process.said('Ready to accept connections');
  return process;
}
