import { spawn, type ChildProcess as NodeChild, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { clearTimeout, setTimeout } from 'node:timers';
import { reapWithParent } from '../../scripts/reaper.mjs';

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ManagedProcessOptions extends SpawnOptions {
  /** A folder of this process alone: removed when the process has ended for good, or with its killed parent. */
  ownFolder?: string;
}

/** A child process that never outlives the process that started it, and tells by events what happens to it. */
export class ManagedProcess {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  private transcript = '';
  private readonly watchers = new Set<() => void>();
  private end: Exit | undefined;

  private constructor(
    readonly child: NodeChild,
    reaperDone: () => void,
  ) {
    this.pid = child.pid!;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => this.hear(text));
    this.exited = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        reaperDone();
        this.end = { code, signal };
        this.changed();
        resolve(this.end);
      });
    });
  }

  static async start(command: string, args: string[], options: ManagedProcessOptions = {}): Promise<ManagedProcess> {
    const { ownFolder, ...spawnOptions } = options;
    const reaper = reapWithParent(ownFolder);
    // detached: Ctrl-C on the terminal reaches the parent only, and the parent's end is what ends this one
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...spawnOptions, detached: true });
    if (child.pid === undefined) {
      reaper.done();
      const [error] = (await once(child, 'error')) as [Error];
      throw error;
    }
    reaper.watch(child.pid);
    child.on('error', () => undefined); // a failed kill or send; the exit is what counts
    return new ManagedProcess(child, reaper.done);
  }

  get running(): boolean {
    return this.end === undefined;
  }

  /** The last 64 KB that the process wrote to stdout and stderr. */
  get output(): string {
    return this.transcript;
  }

  /** Resolves when the process has written this since its start; rejects with its output when it ends without. */
  async said(pattern: string | RegExp, timeoutMs = 60_000): Promise<void> {
    await this.until(
      () => (typeof pattern === 'string' ? this.transcript.includes(pattern) : pattern.test(this.transcript)),
      `to say ${pattern}`,
      timeoutMs,
    );
  }

  /** Re-evaluates the condition whenever the process writes, reports or ends. */
  async until(condition: () => boolean, what: string, timeoutMs: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: Error): void => {
        clearTimeout(timer);
        this.watchers.delete(look);
        if (error) reject(error);
        else resolve();
      };
      const look = (): void => {
        if (condition()) settle();
        else if (this.end) settle(this.complaint(`ended (${this.end.signal ?? this.end.code})`, what));
      };
      const timer = setTimeout(() => settle(this.complaint(`ran for ${timeoutMs} ms`, what)), timeoutMs);
      this.watchers.add(look);
      look();
    });
  }

  /** To be called when something happened that an `until` may be waiting for. */
  changed(): void {
    this.watchers.forEach((look) => look());
  }

  signal(signal: NodeJS.Signals): void {
    if (this.running) this.child.kill(signal);
  }

  /** SIGSTOP; has taken effect when this returns. */
  freeze(): void {
    this.signal('SIGSTOP');
    waitUntilStopped(this.pid);
  }

  thaw(): void {
    this.signal('SIGCONT');
  }

  async kill(): Promise<Exit> {
    this.signal('SIGKILL');
    return this.exited;
  }

  /** A graceful end, which becomes a hard one when it takes too long. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', graceMs = 15_000): Promise<Exit> {
    this.signal(signal);
    this.thaw();
    const hardEnd = setTimeout(() => this.signal('SIGKILL'), graceMs);
    return this.exited.finally(() => clearTimeout(hardEnd));
  }

  private hear(text: string): void {
    this.transcript = (this.transcript + text).slice(-65_536);
    this.changed();
  }

  private complaint(event: string, what: string): Error {
    return new Error(
      `Process ${this.pid} (${this.child.spawnargs.join(' ')}) was expected ${what} but ${event}:\n${this.output}`,
    );
  }
}

export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** False also for a zombie: it has ended, only nobody has asked for its exit code yet. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return stateOf(pid) !== 'Z';
}

/** A signal to another process is delivered a moment later; a test that freezes a holder must not depend on that moment. */
export function waitUntilStopped(pid: number): void {
  for (const start = performance.now(); performance.now() - start < 5_000;) {
    const state = stateOf(pid);
    if (state === undefined || state === 'T' || state === 'Z') return;
  }
  throw new Error(`Process ${pid} did not stop`);
}

/** Undefined if the process is gone, or if the system has no /proc. */
function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.charAt(stat.lastIndexOf(')') + 2);
  } catch {
    return undefined;
  }
}
