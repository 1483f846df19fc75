import type { Serializable } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ManagedProcess, type Exit } from './managed-process.js';

export interface ChildProcessOptions {
  env?: Record<string, string>;
  args?: string[];
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const loader = new URL('./ts-loader.mjs', import.meta.url).href;

/** A real Node process running a TypeScript file of this repository: one pod of a test. It ends with its parent. */
export class ChildProcess {
  private readonly inbox: unknown[] = [];

  private constructor(private readonly process: ManagedProcess) {
    process.child.on('message', (message) => {
      this.inbox.push(message);
      process.changed();
    });
  }

  /** The file: a URL, or a path, which is relative to the repository. */
  static async start(file: string | URL, { env = {}, args = [] }: ChildProcessOptions = {}): Promise<ChildProcess> {
    const path = file instanceof URL ? fileURLToPath(file) : resolve(root, file);
    const process = await ManagedProcess.start(
      globalThis.process.execPath,
      ['--import', loader, '--enable-source-maps', path, ...args],
      { cwd: root, env: { ...inheritedEnvironment(), ...env }, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
    );
    return new ChildProcess(process);
  }

  get pid(): number {
    return this.process.pid;
  }

  get running(): boolean {
    return this.process.running;
  }

  /** What it wrote to stdout and stderr. */
  get output(): string {
    return this.process.output;
  }

  get exited(): Promise<Exit> {
    return this.process.exited;
  }

  /**
   * Takes the oldest message that fits out of the inbox, or waits for one; others stay for later calls. Rejects with the
   * child's output when it ends, or stays silent, instead.
   */
  async next<T = any>(fits: (message: T) => boolean = () => true, timeoutMs = 30_000): Promise<T> {
    let found: { message: T } | undefined;
    const take = (): boolean => {
      if (found) return true;
      const index = this.inbox.findIndex((message) => fits(message as T));
      if (index < 0) return false;
      found = { message: this.inbox.splice(index, 1)[0] as T };
      return true;
    };
    await this.process.until(take, 'to send a message', timeoutMs);
    return found!.message;
  }

  send(message: Serializable): void {
    this.process.child.send(message);
  }

  /** SIGSTOP, as a pod that is paused: it runs no code and does not know it. */
  freeze(): void {
    this.process.freeze();
  }

  thaw(): void {
    this.process.thaw();
  }

  /** SIGKILL, as a crash. */
  async kill(): Promise<Exit> {
    return this.process.kill();
  }

  /** SIGTERM, as an orchestrator sends it; SIGKILL when it takes longer than the grace period. */
  async stop(graceMs?: number): Promise<Exit> {
    return this.process.stop('SIGTERM', graceMs);
  }
}

/** Without what only concerns the test runner. */
function inheritedEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, JEST_WORKER_ID: _worker, ...rest } = globalThis.process.env;
  return rest;
}
