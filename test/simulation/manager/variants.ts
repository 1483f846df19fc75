import { validity } from '../../../lib/deadline.js';
import type { LockLostError } from '../../../lib/errors.js';
import { Lock } from '../../../lib/lock.js';
import type { Runtime } from '../../../lib/runtime.js';
import type { LockNode } from '../../../lib/stores/redis/lock-node.js';
import type { LinedNode } from '../../stores/redis/simulation/lined-node.js';
import type { SimProcess } from '../sim-process.js';
import type { WatchedTurns } from './watched-turns.js';
import type { Wire } from './wire.js';

/** A lock as its holder sees it, and how it learns of renewals. */
export interface Seen {
  readonly lock: Lock;
  renewed(): void;
}

/** One part taken away, or made wrong, around the code under test. */
export interface Variant {
  readonly Node?: typeof LinedNode;
  readonly Turns?: typeof WatchedTurns;
  readonly quarantine?: false;
  /** No node comes back empty. */
  readonly amnesia?: false;
  readonly seen?: (lock: Lock, ttlMs: number, process: SimProcess) => Seen;
  readonly runtime?: (process: SimProcess) => Runtime;
  readonly node?: (wire: Wire) => LockNode;
}

/** Its holder counts the lease from when the answer came, not from before it asked. */
export class LateLock extends Lock implements Seen {
  readonly lock = this;
  readonly key: string;
  readonly keys: readonly string[];
  readonly fencingToken: number;
  #countedFrom: number;
  #released = false;

  constructor(
    private readonly inner: Lock,
    private readonly ttlMs: number,
    private readonly process: SimProcess,
  ) {
    super();
    this.key = inner.key;
    this.keys = inner.keys;
    this.fencingToken = inner.fencingToken;
    this.#countedFrom = process.clock.monotonic();
  }

  get remaining(): number {
    const known = this.inner.remaining;
    if (this.#released || (this.loss && this.loss.reason !== 'expired')) return 0;
    return Math.max(known, this.#countedFrom + validity(this.ttlMs) - this.process.clock.monotonic(), 0);
  }

  get held(): boolean {
    return this.remaining > 0;
  }

  get loss(): LockLostError | undefined {
    return this.inner.loss;
  }

  get signal(): AbortSignal {
    return this.inner.signal;
  }

  assertHeld(): void {
    this.inner.assertHeld();
  }

  renew(): Promise<void> {
    return this.inner.renew();
  }

  release(): Promise<boolean> {
    this.#released = true;
    return this.inner.release();
  }

  renewed(): void {
    this.#countedFrom = this.process.clock.monotonic();
  }
}

/** Timers that go off too late: whoever relies on them is told too late. */
export function slowTimers(process: SimProcess): Runtime {
  const { clock, random, timers } = process;
  return { clock, random, timers: { start: (callback, delayMs) => timers.start(callback, delayMs * 1.5 + 20) } };
}

/** Now and then a timer never goes off. */
export function losingTimers(process: SimProcess): Runtime {
  const { clock, random, timers } = process;
  const never = (): void => undefined;
  return {
    ...{ clock, random },
    timers: { start: (run, delayMs) => timers.start(random.fraction() < 0.02 ? never : run, delayMs) },
  };
}

/** Whoever stops listening for a key to come free goes on listening. */
export function clinging(wire: Wire): LockNode {
  return new Proxy(wire, {
    get: (target, name) => {
      if (name === 'onFree') {
        return (...args: Parameters<Wire['onFree']>) => {
          target.onFree(...args);
          return () => undefined;
        };
      }
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
