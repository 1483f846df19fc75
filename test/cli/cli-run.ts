import { fileURLToPath } from 'node:url';
import { ManagedProcess, type Exit } from '../support/managed-process.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const loader = new URL('../support/ts-loader.mjs', import.meta.url).href;

/** The command line as a process of its own, as from a shell. */
export class CliRun {
  private constructor(private readonly process: ManagedProcess) {}

  static async start(args: string[], env: Record<string, string> = {}): Promise<CliRun> {
    const {
      NODE_OPTIONS: _options,
      JEST_WORKER_ID: _worker,
      DATABASE_URL: _db,
      REDIS_NODES: _nodes,
      ...rest
    } = process.env;
    const command = ['--import', loader, 'lib/cli/main.ts', ...args];
    return new CliRun(await ManagedProcess.start(process.execPath, command, { cwd: root, env: { ...rest, ...env } }));
  }

  get pid(): number {
    return this.process.pid;
  }

  /** What it and its command wrote, to stdout and stderr. */
  get output(): string {
    return this.process.output;
  }

  get exited(): Promise<Exit> {
    return this.process.exited;
  }

  said(pattern: string | RegExp): Promise<void> {
    return this.process.said(pattern);
  }

  signal(signal: NodeJS.Signals): void {
    this.process.signal(signal);
  }

  kill(): Promise<Exit> {
    return this.process.kill();
  }
}
