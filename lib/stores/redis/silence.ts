import type { Timers } from '../../runtime.js';
import type { RedisClient } from './redis-client.js';

/** Lower recovers sooner from a connection that swallows everything; higher forgives a node that is only stuck for a while. */
const LONGEST_SILENCE_MS = 5000;

/**
 * Watches a connection of our own for silence: one that does not get ready once it is up, or leaves what is overdue without an answer, is given up and made
 * anew. A timer runs only meanwhile, so a connection that is well costs nothing.
 */
export class Silence {
  #cancel: (() => void) | undefined;

  constructor(
    private readonly client: RedisClient,
    private readonly timers: Timers,
  ) {
    client.on('connect', this.begin);
    client.on('ready', this.end);
    client.on('close', this.end);
  }

  readonly begin = (): void => {
    this.#cancel ??= this.timers.start(() => {
      this.end();
      this.client.disconnect(true);
    }, LONGEST_SILENCE_MS);
  };

  readonly end = (): void => {
    this.#cancel?.();
    this.#cancel = undefined;
  };
}
