import { LockLostError } from './errors.js';
import { Lock } from './lock.js';

/** A second handle on a lock that an outer call of the same async context holds. Releasing it gives nothing back: the outer one does. */
export class SharedLock extends Lock {
  readonly key: string;
  readonly keys: readonly string[];
  readonly fencingToken: number;
  #released = false;

  constructor(private readonly outer: Lock) {
    super();
    this.key = outer.key;
    this.keys = outer.keys;
    this.fencingToken = outer.fencingToken;
  }

  get signal(): AbortSignal {
    return this.outer.signal;
  }

  get held(): boolean {
    return !this.#released && this.outer.held;
  }

  get remaining(): number {
    return this.#released ? 0 : this.outer.remaining;
  }

  get loss(): LockLostError | undefined {
    return this.outer.loss;
  }

  assertHeld(): void {
    if (this.#released) throw new LockLostError(this.key, this.fencingToken, 'released');
    this.outer.assertHeld();
  }

  async renew(): Promise<void> {
    this.assertHeld();
    await this.outer.renew();
  }

  async release(): Promise<boolean> {
    const wasHeld = this.held;
    this.#released = true;
    return wasHeld;
  }
}
