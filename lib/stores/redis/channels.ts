import type { RedisClient } from './redis-client.js';
import { isDenial, reason } from './script-answer.js';

/** What is used of a client that does nothing but listen. */
interface Subscriber {
  readonly status: string;
  subscribe(...channels: string[]): Promise<unknown>;
  unsubscribe(...channels: string[]): Promise<unknown>;
  disconnect(): void;
  on(event: string, listener: (...args: any[]) => void): unknown;
}

/** Told what is said on a channel; undefined: messages may have been missed. */
export type Heard = (message: string | undefined) => void;

/**
 * The channels of one Redis that somebody listens to. That takes a connection of its own, made for the first, with the options of the one it is for.
 * Messages may be lost.
 */
export class Channels {
  /** What the client puts before each key. A script publishes to what it makes of its keys; names of channels the client leaves as they are. */
  readonly prefix: string;
  readonly #heard = new Map<string, Heard>();
  /** Those that the server has confirmed. */
  readonly #live = new Set<string>();
  #subscriber: Subscriber | undefined;
  #closed = false;

  constructor(
    private readonly client: RedisClient,
    /** Called when nothing can be heard, with the reason. */
    private readonly deaf: (why: string) => void = () => undefined,
  ) {
    this.prefix = ((client.options as { keyPrefix?: string | Buffer } | undefined)?.keyPrefix ?? '').toString();
  }

  open(channel: string, heard: Heard): void {
    this.#heard.set(channel, heard);
    this.#subscribe(channel);
  }

  isOpen(channel: string): boolean {
    return this.#heard.has(channel);
  }

  /** Whether what is said there at present is heard. */
  isLive(channel: string): boolean {
    return this.#live.has(channel);
  }

  leave(channels: readonly string[]): void {
    for (const channel of channels) {
      this.#heard.delete(channel);
      this.#live.delete(channel);
    }
    if (channels.length > 0 && this.#subscriber?.status === 'ready') {
      this.#subscriber.unsubscribe(...channels).catch(() => undefined); // a broken connection has left them, too
    }
  }

  close(): void {
    this.#closed = true;
    this.#heard.clear();
    this.#live.clear();
    this.#subscriber?.disconnect();
  }

  /** Each by itself: a user may have access to some only. */
  #subscribe(channel: string): void {
    const subscriber = (this.#subscriber ??= this.#connect());
    if (subscriber?.status !== 'ready') return;
    subscriber.subscribe(channel).then(
      () => {
        const heard = this.#heard.get(channel);
        if (!heard) return;
        this.#live.add(channel);
        // Something may have been said before.
        heard(undefined);
      },
      // Without access whoever waits looks from time to time. A connection that broke is made anew.
      (error: unknown) => {
        const why = reason(error);
        if (isDenial(why)) this.deaf(why);
      },
    );
  }

  #connect(): Subscriber | undefined {
    const { client } = this;
    if (this.#closed || !client.duplicate) return undefined;
    const own = { autoResubscribe: false, lazyConnect: false };
    const subscriber = (client.isCluster ? client.duplicate([], own) : client.duplicate(own)) as Subscriber;
    subscriber.on('error', () => undefined); // the connection that locks says what is wrong
    subscriber.on('message', (channel: string, message: string) => this.#heard.get(channel)?.(message));
    subscriber.on('close', () => this.#live.clear());
    subscriber.on('ready', () => [...this.#heard.keys()].forEach((channel) => this.#subscribe(channel)));
    return subscriber;
  }
}
