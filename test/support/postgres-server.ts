import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCluster, POSTGRES_READY, postgresUrl } from '../../scripts/postgres-cluster.mjs';
import { freePort } from './free-port.js';
import { ManagedProcess, removeFolder, waitUntilStopped } from './managed-process.js';

type Cluster = Awaited<ReturnType<typeof createCluster>>;

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
    private readonly cluster: Cluster,
    private process: ManagedProcess,
  ) {}

  static async start(options: PostgresServerOptions = {}): Promise<PostgresServer> {
    const folder = await mkdtemp(join(tmpdir(), 'postgres-'));
    try {
      const cluster = await createCluster(folder);
      for (let attemptsLeft = 5; ; attemptsLeft--) {
        const port = options.port ?? (await freePort());
        try {
          return new PostgresServer(port, options, folder, cluster, await launch(cluster, port, folder, options.args));
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
    return postgresUrl(this.port);
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
    this.process = await launch(this.cluster, this.port, this.folder, this.options.args);
  }
}

async function launch(cluster: Cluster, port: number, folder: string, args: string[] = []): Promise<ManagedProcess> {
  const { command, argsFor, options } = cluster;
  const process = await ManagedProcess.start(command, [...argsFor(port), ...args], { ...options, ownFolder: folder });
  await process.said(POSTGRES_READY);
  return process;
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
