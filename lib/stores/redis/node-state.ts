import type { Timers } from '../../runtime.js';
import { Reachability } from '../reachability.js';
import type { RedisClient } from './redis-client.js';
import { reason } from './script-answer.js';

/** Whether a node can be asked anything, and what was wrong with it last. */
export class NodeState {
  readonly reachability: Reachability;
  #silent = false;
  #down: string | undefined;
  /** What was wrong with a connection that is still up, such as READONLY: if it closes, that is why. */
  #complaint: string | undefined;

  constructor(
    name: string,
    private readonly client: RedisClient,
    private readonly log: (message: string) => void,
    private readonly onReady: () => void,
  ) {
    this.reachability = new Reachability(name);
    client.on('error', this.#onError);
    client.on('close', this.#onClose);
    client.on('ready', this.#onReady);
  }

  get isConnected(): boolean {
    return this.client.status === 'ready';
  }

  /** Since an answer was overdue, until one comes in time. */
  get isSilent(): boolean {
    return this.#silent;
  }

  get whyNotConnected(): string {
    return `not connected${this.#down ? ` (${this.#down})` : ''}`;
  }

  /** Connects what does not do so by itself. */
  begin(): void {
    if (this.isConnected) this.#onReady();
    else if (this.client.status === 'wait') this.client.connect().catch(this.#onError);
  }

  whenReady(limitMs: number, timers: Timers): Promise<boolean> {
    if (this.isConnected) return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = (): void => {
        cancel();
        this.client.off('ready', settle);
        resolve(this.isConnected);
      };
      const cancel = timers.start(settle, limitMs, true);
      this.client.on('ready', settle);
    });
  }

  fellSilent(): void {
    this.#silent = true;
    if (this.isConnected) this.reachability.down('not answering');
  }

  isBack(): void {
    this.#silent = false;
    if (this.isConnected) this.reachability.up();
  }

  complain(why: string): void {
    this.#complaint = why;
  }

  /** A client of our own may still fail while it ends. */
  ignore(own: boolean): void {
    this.client.off('close', this.#onClose);
    this.client.off('ready', this.#onReady);
    if (!own) this.client.off('error', this.#onError);
  }

  readonly #onReady = (): void => {
    if (this.#down !== undefined) this.log(`Redis node ${this.reachability.node} is connected again`);
    this.#down = undefined;
    this.#complaint = undefined;
    this.onReady();
  };

  readonly #onError = (error: unknown): void => {
    this.#complaint = reason(error);
    this.#wentDown(this.#complaint);
  };

  // An error that came before tells more: a refused port, a wrong password.
  readonly #onClose = (): void => this.#wentDown(this.#down ?? this.#complaint ?? 'connection closed');

  #wentDown(why: string): void {
    if (this.isConnected) return;
    if (this.#down === undefined) this.log(`Redis node ${this.reachability.node} is out of reach: ${why}`);
    this.#down = why;
    this.reachability.down(why);
  }
}
