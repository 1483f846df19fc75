import type { Watchdog, Watched } from './watchdog.js';

/** How long one answer is waited for: a store that hangs must not hang its caller. Watched from the start until `end`. */
export class Patience implements Watched {
  #giveUp: ((reason: Error) => void) | undefined;

  constructor(
    private readonly watchdog: Watchdog,
    /** On the monotonic clock. */
    private readonly endsAt: number,
  ) {
    watchdog.watch(this);
  }

  /** What was asked for, or a rejection if it has not come in time. */
  for<T>(asked: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      asked.then(resolve, reject);
    });
  }

  dueAt(): number {
    return this.endsAt;
  }

  slackMs(): number {
    return 0;
  }

  attend(): void {
    this.end();
    this.#giveUp?.(new Error('no answer in time'));
  }

  end(): void {
    this.watchdog.unwatch(this);
  }
}
