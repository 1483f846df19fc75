import { channel, type Channel } from 'node:diagnostics_channel';
import { LockOptionsError } from './errors.js';
import type { LockEventListener, LockEventMap, LockEventName } from './lock-events.js';

/** The channels of `node:diagnostics_channel`, for whoever watches all managers of a process. */
const CHANNELS: Readonly<Record<LockEventName, Channel>> = {
  granted: channel('nestjs-fenced-lock:granted'),
  waiting: channel('nestjs-fenced-lock:waiting'),
  busy: channel('nestjs-fenced-lock:busy'),
  unavailable: channel('nestjs-fenced-lock:unavailable'),
  renewed: channel('nestjs-fenced-lock:renewed'),
  lost: channel('nestjs-fenced-lock:lost'),
  released: channel('nestjs-fenced-lock:released'),
  overrun: channel('nestjs-fenced-lock:overrun'),
  nodeDown: channel('nestjs-fenced-lock:nodeDown'),
  nodeUp: channel('nestjs-fenced-lock:nodeUp'),
  nodeAnswered: channel('nestjs-fenced-lock:nodeAnswered'),
  authorityChanged: channel('nestjs-fenced-lock:authorityChanged'),
};

/** The events of one manager. Nothing is made for an event that nobody listens to. */
export class EventHub {
  readonly #listeners = new Map<LockEventName, readonly LockEventListener<never>[]>();

  constructor(private readonly log: ((message: string) => void) | undefined) {}

  /** Whether anyone listens: ask before making the event. */
  hears(name: LockEventName): boolean {
    return this.#listeners.has(name) || CHANNELS[name].hasSubscribers;
  }

  /**
   * Calls `listener` with each such event; returns what ends that.
   * @throws LockOptionsError for a name that is no event, or a listener that is no function.
   */
  on<N extends LockEventName>(name: N, listener: LockEventListener<N>): () => void {
    if (!Object.hasOwn(CHANNELS, name)) {
      throw new LockOptionsError('event', name, `known are ${Object.keys(CHANNELS).join(', ')}.`);
    }
    if (typeof listener !== 'function') throw new LockOptionsError('listener', listener, 'give a function.');
    // One of its own for each call: the same function may listen twice, and each end ends one.
    const own = (event: LockEventMap[N]): unknown => listener(event);
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), own]);
    return () => {
      const left = (this.#listeners.get(name) ?? []).filter((each) => each !== own);
      if (left.length > 0) this.#listeners.set(name, left);
      else this.#listeners.delete(name);
    };
  }

  /** A listener that throws, or whose promise rejects, is told of in the log: what it listens to must not fail with it. */
  tell<N extends LockEventName>(name: N, event: LockEventMap[N]): void {
    for (const listener of (this.#listeners.get(name) ?? []) as readonly LockEventListener<N>[]) {
      try {
        const answer: unknown = listener(event);
        if (isPromise(answer)) answer.then(undefined, (error: unknown) => this.#complain(name, error));
      } catch (error) {
        this.#complain(name, error);
      }
    }
    const { hasSubscribers } = CHANNELS[name];
    if (hasSubscribers) CHANNELS[name].publish(event);
  }

  #complain(name: LockEventName, error: unknown): void {
    this.log?.(`A listener to ${name} threw: ${String(error)}`);
  }
}

function isPromise(answer: unknown): answer is PromiseLike<unknown> {
  return typeof (answer as PromiseLike<unknown> | undefined)?.then === 'function';
}
