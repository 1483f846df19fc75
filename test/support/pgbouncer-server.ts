import { chown, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPgBouncer } from '../../scripts/find-servers.mjs';
import { freePort } from './free-port.js';
import { ManagedProcess, removeFolder } from './managed-process.js';
import { unprivileged } from '../../scripts/unprivileged.mjs';

export interface PgBouncerOptions {
  /** The loopback port of the PostgreSQL behind it, or a server on such a port. It need not be up yet. */
  target: number | { readonly port: number };
  /** When a client's backend goes back to the pool: after its session, its transaction or its statement. */
  poolMode: 'session' | 'transaction' | 'statement';
  /** How many backends the clients of one database share. Default: pgbouncer's own, 20. */
  poolSize?: number;
  port?: number;
  /** More lines for the `[pgbouncer]` section, such as `{ ignore_startup_parameters: 'options' }`. */
  settings?: Record<string, string | number>;
}

/** A real pgbouncer on a loopback port in front of a PostgreSQL; it ends with the process that started it. */
export class PgBouncer {
  private constructor(
    readonly port: number,
    readonly folder: string,
    private readonly process: ManagedProcess,
  ) {}

  static async start(options: PgBouncerOptions): Promise<PgBouncer> {
    for (let attemptsLeft = 5; ; attemptsLeft--) {
      const port = options.port ?? (await freePort());
      const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
      try {
        return new PgBouncer(port, folder, await launch(port, folder, options));
      } catch (error) {
        await removeFolder(folder);
        if (options.port !== undefined || attemptsLeft === 0 || !/in use/i.test(String(error))) throw error;
      }
    }
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  get pid(): number {
    return this.process.pid;
  }

  get running(): boolean {
    return this.process.running;
  }

  /** What it logged, for failing tests. */
  get log(): string {
    return this.process.output;
  }

  /** Cuts off its clients and returns their backends. Calling it again does nothing. */
  async stop(): Promise<void> {
    // It has nothing to tidy up, and since 1.23 a SIGTERM waits for the clients to leave by themselves.
    await this.process.kill();
    await removeFolder(this.folder);
  }
}

async function launch(port: number, folder: string, options: PgBouncerOptions): Promise<ManagedProcess> {
  const binary = findPgBouncer();
  if (!binary) throw new Error('pgbouncer was not found: run `node scripts/setup.mjs`');
  const settingsFile = join(folder, 'pgbouncer.ini');
  const userList = join(folder, 'userlist.txt');
  await writeFile(userList, '"postgres" ""\n');
  await writeFile(settingsFile, settingsOf(port, userList, options));
  if (unprivileged.uid !== undefined) await chown(folder, unprivileged.uid, unprivileged.gid!);
  const process = await ManagedProcess.start(binary, [settingsFile], {
    ...unprivileged,
    cwd: folder,
    ownFolder: folder,
  });
  await process.said('process up');
  return process;
}

function settingsOf(
  port: number,
  userList: string,
  { target, poolMode, poolSize, settings }: PgBouncerOptions,
): string {
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: userList,
    pool_mode: poolMode,
    ...(poolSize === undefined ? {} : { default_pool_size: poolSize }),
    ...settings,
  };
  return [
    '[databases]',
    `* = host=127.0.0.1 port=${typeof target === 'number' ? target : target.port}`,
    '[pgbouncer]',
    ...Object.entries(lines).map(([name, value]) => `${name} = ${value}`),
    '',
  ].join('\n');
}
