import { ManagedProcess } from '../support/managed-process.js';
import { root } from './compiler.js';

const LOADER = new URL('../support/ts-loader.mjs', import.meta.url).href;

/** One pod of a program of the README: a real process, which reads from its environment who it is and where its Redis is. */
export class PodProgram {
  private constructor(
    readonly name: string,
    private readonly process: ManagedProcess,
    private readonly printed: { out: string; err: string },
  ) {}

  static async start(path: string, name: string, redisUrl: string): Promise<PodProgram> {
    const { NODE_OPTIONS: _ofJest, ...inherited } = process.env;
    const child = await ManagedProcess.start(process.execPath, ['--import', LOADER, path], {
      cwd: root,
      env: { ...inherited, POD: name, REDIS_URL: redisUrl },
    });
    const printed = { out: '', err: '' };
    child.child.stdout!.on('data', (text: string) => (printed.out += text));
    child.child.stderr!.on('data', (text: string) => (printed.err += text));
    return new PodProgram(name, child, printed);
  }

  /** What it printed to stdout so far, in whole lines. */
  get lines(): string[] {
    return this.printed.out.split('\n').slice(0, -1);
  }

  /** What it printed to stderr. */
  get complaints(): string {
    return this.printed.err;
  }

  async stop(): Promise<void> {
    await this.process.stop();
  }
}
