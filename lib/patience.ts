import type { Moment } from './deadline.js';
import type { Slot, Watchdog, Watched } from './watchdog.js';

/** How long one answer is waited for: a store that hangs must not hang its caller. */
export class Patience implements Watched {
  slot: Slot | undefined = undefined;
  place = 0;

  /** Calls `giveUp` at that time, on the monotonic clock, unless it has ended by then. */
  constructor(
    private readonly watchdog: Watchdog,
    private readonly endsAt: number,
    private readonly giveUp: () => void,
    at: Moment,
  ) {
    watchdog.watch(this, at);
  }

  dueAt(): number {
    return this.endsAt;
  }

  slackMs(): number {
    return 0;
  }

  attend(): void {
    this.end();
    this.giveUp();
  }

  end(): void {
    this.watchdog.unwatch(this);
  }
}
