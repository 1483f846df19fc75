import { execFile, spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { chown, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findPostgresBin } from '../../scripts/find-servers.mjs';
import { freePort } from './free-port.js';
import { ManagedProcess, removeFolder, waitUntilStopped } from './managed-process.js';
import { unprivileged } from './unprivileged.js';

export interface PostgresServerOptions {
  port?: number;
  /** More arguments for postgres, such as `['-c', 'max_connections=10']`. */
  args?: string[];
}

/** A real PostgreSQL with a database cluster of its own on a loopback port, which ends with the process that started it. */
export class PostgresServer {
  private frozen: number[] = [];

  private constructor(
    readonly port: number,
    private readonly options: PostgresServerOptions,
    readonly folder: string,
    private readonly bin: string,
    private process: ManagedProcess,
  ) {}

  static async start(options: PostgresServerOptions = {}): Promise<PostgresServer> {
    const folder = await mkdtemp(join(tmpdir(), 'postgres-'));
    try {
      if (unprivileged.uid !== undefined) await chown(folder, unprivileged.uid, unprivileged.gid!);
      const bin = runnableBin(folder);
      await initialise(bin, folder);
      for (let attemptsLeft = 5; ; attemptsLeft--) {
        const port = options.port ?? (await freePort());
        try {
          return new PostgresServer(port, options, folder, bin, await launch(bin, port, folder, options));
        } catch (error) {
          if (options.port !== undefined || attemptsLeft === 0 || !/in use/i.test(String(error))) throw error;
        }
      }
    } catch (error) {
      await removeFolder(folder);
      throw error;
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

  /** The server's own process and one per session and background task. */
  get pids(): number[] {
    return [this.pid, ...childrenOf(this.pid)];
  }

  /** What the server logged, for failing tests. */
  get log(): string {
    return this.process.output;
  }

  /** A fast, orderly shutdown; also of a frozen server. Calling it again does nothing. */
  async stop(): Promise<void> {
    this.thaw();
    await this.process.stop('SIGINT');
    await removeFolder(this.folder);
  }

  /** SIGKILL of the server and all its backends, as a crash. `restart` brings the server back with what was committed. */
  async kill(): Promise<void> {
    if (!this.running) return;
    // stopped first, so that it can start no backend that the list lacks
    this.process.freeze();
    const backends = childrenOf(this.pid);
    this.process.signal('SIGKILL');
    backends.forEach((pid) => sendSignal(pid, 'SIGKILL'));
    this.frozen = [];
    await this.process.exited;
  }

  /** Everything hangs: connections stay open, nothing is answered, sessions keep their locks. */
  freeze(): void {
    if (!this.running) return;
    this.process.freeze();
    this.frozen = childrenOf(this.pid);
    this.frozen.forEach((pid) => sendSignal(pid, 'SIGSTOP'));
    this.frozen.forEach(waitUntilStopped);
  }

  thaw(): void {
    this.frozen.forEach((pid) => sendSignal(pid, 'SIGCONT'));
    this.frozen = [];
    this.process.thaw();
  }

  /** Ends the server, if it runs, as a crash would, and starts it on the same port with the same data. */
  async restart(): Promise<void> {
    await this.kill();
    this.process = await launch(this.bin, this.port, this.folder, this.options);
  }
}

/** A clone below root's home cannot be read by "nobody"; then the server runs from a copy. */
function runnableBin(folder: string): string {
  const bin = findPostgresBin();
  if (!bin) throw new Error('PostgreSQL was not found: run `node scripts/setup.mjs`');
  const runs =
    spawnSync(join(bin, 'postgres'), ['--version'], { ...unprivileged, cwd: '/', stdio: 'ignore' }).status === 0;
  if (runs) return bin;
  const copy = join(folder, 'server');
  cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}

async function initialise(bin: string, folder: string): Promise<void> {
  await promisify(execFile)(
    join(bin, 'initdb'),
    ['-D', join(folder, 'data'), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    { ...unprivileged, cwd: folder, env: environment(folder) },
  );
}

async function launch(
  bin: string,
  port: number,
  folder: string,
  { args = [] }: PostgresServerOptions,
): Promise<ManagedProcess> {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    full_page_writes: 'off',
    shared_buffers: '16MB',
  };
  const process = await ManagedProcess.start(
    join(bin, 'postgres'),
    [
      ...['-D', join(folder, 'data'), '-p', String(port)],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ...args,
    ],
    { ...unprivileged, cwd: folder, env: environment(folder), ownFolder: folder },
  );
  await process.said('ready to accept connections');
  return process;
}

function environment(folder: string): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: folder, LC_ALL: 'C', TZ: 'UTC' };
}

function childrenOf(pid: number): number[] {
  return pidsIn(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')) ?? pidsIn(() => pgrep(pid)) ?? [];
}

function pgrep(parent: number): string {
  return spawnSync('pgrep', ['-P', String(parent)], { encoding: 'utf8' }).stdout;
}

function pidsIn(list: () => string): number[] | undefined {
  try {
    return list().split(/\s+/).filter(Boolean).map(Number);
  } catch {
    return undefined;
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it has ended meanwhile
  }
}
