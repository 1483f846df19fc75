import type { Timers } from './runtime.js';

/** One caller that waits: it sleeps, and is woken, timed out or stopped from outside. */
export class Waiter {
  /** True once the time to wait is over; one last attempt is still due. */
  expired = false;
  #wake: (() => void) | undefined;
  #wokenEarly = false;
  #stop!: (reason: unknown) => void;
  readonly #stopped: Promise<never>;
  #stopReason: { readonly reason: unknown } | undefined;
  readonly #cancelTimeout: () => void;

  constructor(
    private readonly timers: Timers,
    waitMs: number,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.#stopped = new Promise<never>((_, reject) => (this.#stop = reject));
    this.#stopped.catch(() => undefined); // it is also read as a state, without anyone awaiting it
    this.#cancelTimeout = timers.start(
      () => {
        this.expired = true;
        this.wake();
      },
      waitMs,
      true,
    );
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (signal?.aborted) this.#onAbort();
  }

  /** Sleeps until woken, timed out, or `ms` have passed; rejects when stopped. */
  async pause(ms?: number): Promise<void> {
    if (this.#stopReason) throw this.#stopReason.reason;
    let cancel: (() => void) | undefined;
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (ms !== undefined) cancel = this.timers.start(resolve, ms, true);
    });
    if (this.expired || this.#wokenEarly) this.wake();
    try {
      await this.orStopped(woken);
    } finally {
      this.#wake = undefined;
      this.#wokenEarly = false;
      cancel?.();
    }
  }

  /** Ends the present pause, or else the next one: a wake-up that comes during an attempt is not lost. */
  wake(): void {
    if (this.#wake) this.#wake();
    else this.#wokenEarly = true;
  }

  stop(reason: unknown): void {
    this.#stopReason ??= { reason };
    this.#stop(reason);
  }

  /** What `promise` brings, unless the waiter is stopped first. */
  orStopped<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#stopped]);
  }

  dispose(): void {
    this.#cancelTimeout();
    this.signal?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.stop(this.signal?.reason);
}
