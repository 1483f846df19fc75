import { AsyncResource, createHook, executionAsyncId, executionAsyncResource, type AsyncHook } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';

/**
 * Sees every timer set in this process after its creation, also unref'd ones, which keep no process alive and which
 * `process.getActiveResourcesInfo()` therefore does not report. Timers of the test runner are not counted, nor what timers set that were there before: one file of tests
 * may leave a lock to its ttl, and the next runs in the same process.
 */
export class TimerWatch {
  private readonly alive = new Map<number, string>();
  /** What earlier timers, or what they set off, brought about. */
  private readonly foreign = new Set<number>();
  private readonly begunAt = new AsyncResource('TimerWatch').asyncId();
  private readonly hook: AsyncHook;

  constructor() {
    this.hook = createHook({
      init: (id, type) => {
        if (this.isForeign()) this.foreign.add(id);
        else if (type === 'Timeout') {
          const stack = callStack();
          if (!/node_modules\/(@jest|jest-)/.test(stack[0] ?? '')) this.alive.set(id, stack.join('\n'));
        }
      },
      destroy: (id) => {
        this.alive.delete(id);
        this.foreign.delete(id);
      },
    }).enable();
  }

  /** Where the timers that are active now were set; only those whose stack has this in it, if given. */
  async active(stackIncludes = ''): Promise<string[]> {
    await setImmediate(); // the end of a timer is reported by the next turn of the event loop
    await setImmediate();
    return [...this.alive.values()].filter((stack) => stack.includes(stackIncludes));
  }

  stop(): void {
    this.hook.disable();
  }

  private isForeign(): boolean {
    const by = executionAsyncId();
    if (this.foreign.has(by)) return true;
    return by < this.begunAt && executionAsyncResource().constructor?.name === 'Timeout';
  }
}

/** Fails, and says where they were set, if timers set since the watch began are still active. */
export async function expectNoTimers(watch: TimerWatch, stackIncludes?: string): Promise<void> {
  const active = await watch.active(stackIncludes);
  if (active.length > 0) throw new Error(`${active.length} timers are still active:\n${active.join('\n')}`);
}

/** How many timers keep this process alive; the test runner's own included. */
export function referencedTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}

/** From the line that set the timer outwards. */
function callStack(): string[] {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 30;
  const lines = new Error().stack?.split('\n').slice(1) ?? [];
  Error.stackTraceLimit = limit;
  const ownFrames = lines.findLastIndex((line) => line.includes('emitInitScript') || line.includes('(node:timers'));
  return lines.slice(ownFrames + 1);
}
