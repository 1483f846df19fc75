import { LockOptionsError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { NodeHealth } from '../store-health.js';
import { Reachability } from '../reachability.js';
import type { Session } from './session.js';

export interface SessionEvents {
  /** There is a session to work with. */
  up(session: Session): void;
  /** It is gone, with everything on it. */
  down(reason: Error): void;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
/** A server that refuses a password must not be asked once a second. */
const REFUSED_PAUSE_MS = 10_000;

/** Keeps one session open: opens the next when it is lost, for as long as it is not closed. */
export class SessionKeeper {
  readonly reachability: Reachability;
  #session: Session | undefined;
  #opening: Session | undefined;
  #down = new Error('not connected yet');
  #closed = false;
  #attempts = 0;
  #told: string | undefined;
  #cancel: (() => void) | undefined;

  constructor(
    private readonly name: string,
    private readonly make: () => Session,
    private readonly setUp: (session: Session) => Promise<void>,
    private readonly events: SessionEvents,
    private readonly log: (message: string) => void,
    private readonly runtime: Runtime,
  ) {
    this.reachability = new Reachability(name);
  }

  /** @throws why there is none. */
  get session(): Session {
    if (!this.#session) throw this.#down;
    return this.#session;
  }

  /** Whether its server answers now. */
  async check(): Promise<NodeHealth> {
    const { clock } = this.runtime;
    const askedAt = clock.monotonic();
    try {
      await this.session.alive();
      return { node: this.name, state: 'up', latencyMs: clock.monotonic() - askedAt };
    } catch (error) {
      return { node: this.name, state: 'down', reason: (error as Error).message };
    }
  }

  /** Resolves when there is a session, or when it is tried again later; rejects with a LockOptionsError if that would be of no use. */
  async open(): Promise<void> {
    const session = (this.#opening = this.make());
    try {
      await this.setUp(session);
      if (session.lost) throw session.lost;
    } catch (error) {
      this.#opening = undefined;
      session.lose(error as Error);
      this.#retry(error as Error);
      if (error instanceof LockOptionsError) throw error;
      return;
    }
    this.#opening = undefined;
    this.#attempts = 0;
    this.#session = session;
    session.onLost = (reason) => this.#lost(reason);
    if (this.#told !== undefined) this.log(`${this.name}: connected again`);
    this.#told = undefined;
    this.reachability.up();
    this.events.up(session);
  }

  async close(limitMs: number): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    const reason = (this.#down = new Error('the store is closed'));
    this.#opening?.lose(reason);
    await this.#session?.close(reason, limitMs);
  }

  #lost(reason: Error): void {
    this.#session = undefined;
    this.#retry(reason);
    this.events.down(reason);
  }

  #retry(reason: Error): void {
    if (this.#closed) return;
    this.#down = reason;
    if (this.#told !== reason.message) this.log(`${this.name}: no connection: ${reason.message}`);
    this.#told = reason.message;
    this.reachability.down(reason.message);
    const ceiling = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#attempts++, 10));
    // Random, so that the pods of a restarted server do not all come at once.
    const pauseMs =
      reason instanceof LockOptionsError ? REFUSED_PAUSE_MS : ceiling * (0.5 + this.runtime.random.fraction() / 2);
    this.#cancel = this.runtime.timers.start(() => {
      this.open().catch(() => undefined); // it is the reason that callers are told
    }, pauseMs);
  }
}
