import type { Timers } from '../../runtime.js';
import type { Channels } from './channels.js';
import { freeChannel } from './key-names.js';

/** Told whose lock was given back; undefined: messages may have been missed. */
export type Told = (whose: string | undefined) => void;

/** Those who listen to one channel. */
interface Audience {
  readonly listeners: Set<Told>;
  /** What was said since somebody asked whether they hear, and before they listen. */
  unheard: { readonly owner: string | undefined } | undefined;
}

/** One who waits is mostly followed by the next; subscribing anew for each would double the commands of a wait. */
const LINGER_MS = 1000;

/** What one Redis says of keys that come free, to those who stand in no line for them. Messages may be lost, so whoever waits also looks from time to time. */
export class FreeChannel {
  readonly #audiences = new Map<string, Audience>();
  #cancel: (() => void) | undefined;

  constructor(
    private readonly channels: Channels,
    private readonly timers: Timers,
  ) {}

  listen(key: string, told: Told): () => void {
    const audience = this.#audienceOf(this.#channelOf(key));
    const { listeners, unheard } = audience;
    listeners.add(told);
    // The answer to an attempt and what is said of its key come over two connections: the latter may be here first.
    if (unheard) queueMicrotask(() => listeners.has(told) && told(unheard.owner));
    audience.unheard = undefined;
    return () => {
      listeners.delete(told);
      if (listeners.size === 0) this.#cancel ??= this.timers.start(() => this.#leaveIdle(), LINGER_MS);
    };
  }

  /** Whether whoever listens to this key is told of it at present; from now on, also if they begin to listen only when they have been refused. */
  hears(key: string): boolean {
    if (this.#audiences.size === 0) return false;
    const channel = this.#channelOf(key);
    const audience = this.#audiences.get(channel);
    if (audience) audience.unheard = undefined;
    return this.channels.isLive(channel);
  }

  close(): void {
    this.#cancel?.();
    this.#audiences.clear();
  }

  #channelOf(key: string): string {
    return this.channels.prefix + freeChannel(key);
  }

  #audienceOf(channel: string): Audience {
    const known = this.#audiences.get(channel);
    if (known) return known;
    const audience: Audience = { listeners: new Set(), unheard: undefined };
    this.#audiences.set(channel, audience);
    this.channels.open(channel, (owner) => {
      if (audience.listeners.size === 0) audience.unheard = { owner };
      for (const told of [...audience.listeners]) told(owner);
    });
    return audience;
  }

  #leaveIdle(): void {
    this.#cancel = undefined;
    const idle = [...this.#audiences].filter(([, { listeners }]) => listeners.size === 0).map(([channel]) => channel);
    for (const channel of idle) this.#audiences.delete(channel);
    this.channels.leave(idle);
  }
}

/** Releases of one key that only some nodes tell of, while someone waits. */
const MOST_COUNTED = 64;

/** Calls `wake` as soon as so many nodes have told of the same release: before that the key is not free. */
export function agreeing(quorum: number, wake: () => void): Told {
  const counts = new Map<string | undefined, number>();
  return (owner) => {
    if (counts.size >= MOST_COUNTED) counts.clear();
    const count = (counts.get(owner) ?? 0) + 1;
    counts.set(owner, count);
    if (count !== quorum) return;
    // A release comes once; what may have been missed may be missed again.
    if (owner === undefined) counts.delete(owner);
    wake();
  };
}
