import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT } from './exit-codes.js';

/** Windows knows neither groups nor sh: there the command alone is ended, and it outlives a killed parent. */
const HAS_GROUPS = process.platform !== 'win32';
const POLL_MS = 20;

/**
 * Waits on a pipe from this process. A line is an orderly end. End of file without one means that this process was killed, and nobody renews the lock any more: the
 * command is ended then as if the lock were lost.
 */
const GUARD = `
trap '' HUP INT TERM
read -r group || exit 0
read -r done && exit 0
kill -TERM -"$group" 2>/dev/null || exit 0
kill -CONT -"$group" 2>/dev/null
left=$1
while [ "$left" -gt 0 ]; do
  sleep 1
  kill -0 -"$group" 2>/dev/null || exit 0
  left=$((left - 1))
done
kill -KILL -"$group" 2>/dev/null
`;

/** A command, with all that it starts: a process group of its own, so that nothing of it stays at work when it is ended. */
export class ProcessGroup {
  /** The exit code, as a shell would tell it. */
  readonly exited: Promise<number>;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #running = true;
  #end: Promise<void> | undefined;
  /** Why it could not be run. */
  failure: string | undefined;

  constructor(
    [program, ...args]: readonly string[],
    env: NodeJS.ProcessEnv,
    private readonly graceMs: number,
  ) {
    const guard = HAS_GROUPS ? startGuard(graceMs) : undefined;
    this.#child = spawn(program!, args, { stdio: 'inherit', detached: HAS_GROUPS, env });
    if (this.#child.pid !== undefined) guard?.watch(this.#child.pid);
    const exit = new Promise<number>((resolve) => {
      this.#child.once('error', (error: NodeJS.ErrnoException) => {
        this.failure = error.message;
        resolve(cannotRun(error));
      });
      this.#child.once('exit', (code, signal) => resolve(code ?? EXIT.signal + constants.signals[signal!]));
    });
    this.#ended = exit.then(() => void (this.#running = false));
    this.exited = exit.then(async (code) => {
      await this.#end;
      guard?.done();
      return code;
    });
  }

  signal(signal: NodeJS.Signals): boolean {
    const { pid } = this.#child;
    if (pid === undefined || (!HAS_GROUPS && !this.#running)) return false;
    try {
      return process.kill(HAS_GROUPS ? -pid : pid, signal);
    } catch {
      return false; // it has ended meanwhile
    }
  }

  /** SIGTERM, and SIGKILL for what is still there after the grace. */
  end(): void {
    this.#end ??= this.#endAll();
  }

  async #endAll(): Promise<void> {
    this.signal('SIGTERM');
    this.signal('SIGCONT');
    const giveUpAt = performance.now() + this.graceMs;
    while (this.#isThere() && performance.now() < giveUpAt) {
      await (this.#running ? Promise.race([this.#ended, sleep(POLL_MS)]) : sleep(POLL_MS));
    }
    this.signal('SIGKILL');
  }

  /** Also what it started, and left behind. */
  #isThere(): boolean {
    return HAS_GROUPS ? this.#child.pid !== undefined && isAlive(-this.#child.pid) : this.#running;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function cannotRun({ code }: NodeJS.ErrnoException): number {
  return code === 'ENOENT' ? EXIT.notFound : EXIT.notExecutable;
}

/** Started before the command, so that there is no moment at which that could be left alone. */
function startGuard(graceMs: number): { watch(pid: number): void; done(): void } {
  const seconds = String(Math.ceil(graceMs / 1000));
  const shell = spawn('/bin/sh', ['-c', GUARD, 'guard', seconds], {
    ...{ stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/' },
  });
  shell.unref();
  shell.on('error', () => undefined); // without a shell there is no guard
  const pipe = shell.stdin!;
  pipe.on('error', () => undefined);
  return { watch: (pid) => void pipe.write(`${pid}\n`), done: () => void pipe.end('done\n') };
}
