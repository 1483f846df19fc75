import type { Timers } from '../../runtime.js';
import { freeChannel } from './key-names.js';
import { KEPT_FOR } from './node-lua.js';
import type { RedisClient } from './redis-client.js';

/** Told whose lock was given back, or for which place it is kept; undefined: messages may have been missed. */
export type Told = (whose: string | undefined) => void;

/** What is used of a client that does nothing but listen. */
interface Subscriber {
  readonly status: string;
  subscribe(...channels: string[]): Promise<unknown>;
  unsubscribe(...channels: string[]): Promise<unknown>;
  disconnect(): void;
  on(event: string, listener: (...args: any[]) => void): unknown;
}

/** One who waits is mostly followed by the next; subscribing anew for each would double the commands of a wait. */
const LINGER_MS = 1000;

/**
 * What one Redis says of keys that come free. Listening takes a connection of its own, made for the first who waits, with the options of the one it is for.
 * Messages may be lost, so whoever waits also looks from time to time.
 */
export class FreeChannel {
  readonly #listeners = new Map<string, Set<Told>>();
  readonly #prefix: string;
  /** The channels that the server has confirmed. */
  readonly #live = new Set<string>();
  /** What was said since somebody asked whether they hear, and before they listen. */
  readonly #unheard = new Map<string, string | undefined>();
  #subscriber: Subscriber | undefined;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(
    private readonly client: RedisClient,
    private readonly timers: Timers,
  ) {
    // Publishing is done by a script, whose keys the client prefixes; names of channels it leaves as they are.
    this.#prefix = ((client.options as { keyPrefix?: string | Buffer } | undefined)?.keyPrefix ?? '').toString();
  }

  listen(key: string, told: Told): () => void {
    const channel = this.#prefix + freeChannel(key);
    const listeners = this.#listeners.get(channel) ?? new Set();
    const fresh = !this.#listeners.has(channel);
    this.#listeners.set(channel, listeners.add(told));
    if (fresh) this.#subscribe([channel]);
    else if (this.#unheard.has(channel)) queueMicrotask(() => listeners.has(told) && this.#tellUnheard(channel, told));
    return () => {
      listeners.delete(told);
      if (listeners.size === 0) this.#cancel ??= this.timers.start(() => this.#leaveIdle(), LINGER_MS);
    };
  }

  /** Whether whoever listens to this key is told of it at present; from now on, also if they begin to listen only when they have been refused. */
  hears(key: string): boolean {
    if (this.#live.size === 0) return false;
    const channel = this.#prefix + freeChannel(key);
    this.#unheard.delete(channel);
    return this.#live.has(channel);
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
    this.#listeners.clear();
    this.#unheard.clear();
    this.#subscriber?.disconnect();
  }

  #subscribe(channels: readonly string[]): void {
    const subscriber = (this.#subscriber ??= this.#connect());
    if (subscriber?.status !== 'ready' || channels.length === 0) return;
    subscriber.subscribe(...channels).then(
      () => {
        // A key may have come free before it was listened to.
        for (const channel of channels) {
          this.#live.add(channel);
          this.#tell(channel, undefined);
        }
      },
      () => undefined, // a user without access to channels: whoever waits looks from time to time
    );
  }

  #leaveIdle(): void {
    this.#cancel = undefined;
    const idle = [...this.#listeners].filter(([, { size }]) => size === 0).map(([channel]) => channel);
    for (const channel of idle) {
      this.#listeners.delete(channel);
      this.#live.delete(channel);
      this.#unheard.delete(channel);
    }
    if (idle.length > 0 && this.#subscriber?.status === 'ready') {
      this.#subscriber.unsubscribe(...idle).catch(() => undefined); // a broken connection has left them, too
    }
  }

  #tell(channel: string, owner: string | undefined): void {
    const listeners = this.#listeners.get(channel);
    if (listeners?.size === 0) this.#unheard.set(channel, owner);
    for (const told of [...(listeners ?? [])]) told(owner);
  }

  /** The answer to an attempt and what is said of its key come over two connections: the latter may be here first. */
  #tellUnheard(channel: string, told: Told): void {
    const owner = this.#unheard.get(channel);
    if (this.#unheard.delete(channel)) told(owner);
  }

  #connect(): Subscriber | undefined {
    const { client } = this;
    if (this.#closed || !client.duplicate) return undefined;
    const own = { autoResubscribe: false, lazyConnect: false };
    const subscriber = (client.isCluster ? client.duplicate([], own) : client.duplicate(own)) as Subscriber;
    subscriber.on('error', () => undefined); // the connection that locks says what is wrong
    subscriber.on('message', (channel: string, owner: string) => this.#tell(channel, owner));
    subscriber.on('close', () => this.#live.clear());
    subscriber.on('ready', () => this.#subscribe([...this.#listeners.keys()]));
    return subscriber;
  }
}

/** Calls `wake` when a key is free for all, or kept for this place. */
export function ofPlace(place: string | undefined, wake: () => void): Told {
  return (whose) => {
    if (!whose?.startsWith(KEPT_FOR) || place === undefined || whose === KEPT_FOR + place) wake();
  };
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
