import type { Timers } from '../../runtime.js';
import { Reachability } from '../reachability.js';
import { CLOSED } from './ailment.js';
import type { Plight } from './plight.js';
import type { RedisClient } from './redis-client.js';
import { reason } from './script-answer.js';

/** Whether a node can be asked anything, and what was wrong with it last. */
export class NodeState {
  readonly reachability: Reachability;
  #silent = false;
  #down: string | undefined;
  /** What was wrong with a connection that is still up, such as READONLY: if it closes, that is why. */
  #complaint: string | undefined;
  /** Whether it is connected, but not ready yet. */
  #opening = false;
  /** How often a connection broke; a client of a Cluster has several. */
  breaks = 0;

  constructor(
    name: string,
    private readonly client: RedisClient,
    private readonly plight: Plight,
    private readonly log: (message: string) => void,
    private readonly onReady: () => void,
  ) {
    this.reachability = new Reachability(name);
    client.on('error', this.#onError);
    client.on(plight.event, this.#onConnect);
    client.on('close', this.#onClose);
    client.on('-node', this.#onBreak);
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
    if (this.client.status === 'end') return CLOSED;
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

  fellSilent(why = 'not answering'): void {
    this.#silent = true;
    if (this.isConnected) this.reachability.down(why);
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
    this.client.off(this.plight.event, this.#onConnect);
    this.client.off('close', this.#onClose);
    this.client.off('-node', this.#onBreak);
    this.client.off('ready', this.#onReady);
    if (!own) this.client.off('error', this.#onError);
  }

  readonly #onConnect = (): void => {
    if (this.isConnected) return;
    this.#opening = true;
    void this.plight.idle().then(this.#explained);
  };

  /** The reason why it does not get ready, or was refused. */
  readonly #explained = (why: string | undefined): void => {
    if (why !== undefined) this.#wentDown(why);
  };

  readonly #onReady = (): void => {
    if (this.#down !== undefined) this.log(`Redis node ${this.reachability.node} is connected again`);
    this.#down = undefined;
    this.#complaint = undefined;
    this.#opening = false;
    this.onReady();
  };

  readonly #onError = (error: unknown): void => {
    this.#complaint = reason(error);
    this.#wentDown(this.#complaint);
  };

  readonly #onBreak = (): void => void this.breaks++;

  readonly #onClose = (): void => {
    this.#onBreak();
    // An error that came before tells more: a refused port, a wrong password.
    this.#wentDown(this.#down ?? this.#complaint ?? 'connection closed');
    if (this.#opening) void this.plight.refusal().then(this.#explained);
    this.#opening = false;
  };

  #wentDown(why: string): void {
    if (this.isConnected) return;
    if (this.#down === undefined) this.log(`Redis node ${this.reachability.node} is out of reach: ${why}`);
    this.#down = why;
    this.reachability.down(why);
  }
}
