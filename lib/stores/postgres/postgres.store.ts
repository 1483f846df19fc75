import { LockUnavailableError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { AcquireResult, LockState, LockStore } from '../lock-store.js';
import type { StoreContext } from '../store-source.js';
import { FenceCleaning } from './fence-cleaning.js';
import { FreeChannel } from './free-channel.js';
import { HeldKeys, type HeldKey } from './held-keys.js';
import { lockId, readable, type AdvisoryId, type LockId } from './lock-id.js';
import { ACQUIRE, INSPECT, RAISE, RELEASE, RELEASE_KEEPING, UNDO } from './lock-statements.js';
import type { ClientFactory, Row } from './pg-client.js';
import { idleLimitMs, type PostgresSettings } from './postgres.options.js';
import { SessionKeeper } from './session-keeper.js';
import { idleLimit, setUp } from './session-setup.js';
import { Session } from './session.js';

/** How long `close` waits for the server to take note. */
const GOODBYE_MS = 500;

/**
 * Advisory locks of PostgreSQL, all of this process on one connection of its own. They live as long as it does: when it breaks, every lock on it is lost, and its holder told.
 * The server does not know of the leases; that this process frees what is over, or else that the server ends its session, is what makes a ttl of them.
 */
export class PostgresStore implements LockStore {
  readonly #name: string;
  readonly #keeper: SessionKeeper;
  readonly #held: HeldKeys;
  readonly #free = new FreeChannel();
  /** Attempts under way. The server would give a session the lock that it already has. */
  readonly #asking = new Map<AdvisoryId, Promise<void>>();
  #idleLimitMs: number;

  constructor(
    create: ClientFactory,
    private readonly settings: PostgresSettings,
    context: StoreContext,
    runtime: Runtime,
  ) {
    const { host, port } = create();
    this.#name = `postgres ${host}:${port}`;
    this.#idleLimitMs = idleLimitMs(settings, context.ttlMs);
    this.#held = new HeldKeys(runtime, (held) => this.#expired(held));
    const cleaning = new FenceCleaning(runtime);
    this.#keeper = new SessionKeeper(
      () => new Session(create(), settings, runtime),
      (session) => setUp(session, { ...settings, name: this.#name, idleLimitMs: this.#idleLimitMs }),
      {
        up: (session) => {
          this.#free.up(session);
          cleaning.up(session);
        },
        down: () => {
          this.#free.down();
          cleaning.down();
          for (const held of this.#held.clear()) tellLost(held);
        },
      },
      (message) => context.log(`${this.#name}: ${message}`),
      runtime,
    );
  }

  /**
   * Connects. A server out of reach is logged, and tried again in the background.
   * @throws LockOptionsError when the server answers that it cannot work.
   */
  open(): Promise<void> {
    return this.#keeper.open();
  }

  async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
    const id = lockId(key);
    for (;;) {
      const session = this.#session(key);
      const held = this.#held.find(id);
      if (held && !this.#held.expire(held)) return { acquired: false, retryAfterMs: Math.ceil(held.lease.remaining) };
      const asking = this.#asking.get(id.lock);
      if (!asking) {
        const attempt = this.#attempt(session, key, id, owner, ttlMs).finally(() => this.#asking.delete(id.lock));
        this.#asking.set(id.lock, settled(attempt));
        return attempt;
      }
      await asking;
    }
  }

  async renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    const session = this.#session(key);
    const id = lockId(key);
    const held = this.#held.owned(id, owner);
    if (!held) return false;
    this.#cover(session, ttlMs);
    await session.alive().catch((error: unknown) => this.#unavailable(key, error));
    if (session.lost) this.#unavailable(key, session.lost);
    if (this.#held.owned(id, owner) !== held) return false;
    this.#held.renew(held, ttlMs);
    return true;
  }

  async release(key: string, owner: string, keepForMs = 0): Promise<boolean> {
    const session = this.#session(key);
    const held = this.#held.owned(lockId(key), owner);
    if (!held) return false;
    this.#held.remove(held);
    await this.#giveBack(session, held, keepForMs);
    return true;
  }

  async raise(key: string, owner: string, fencingToken: number): Promise<boolean> {
    const session = this.#session(key);
    const id = lockId(key);
    if (!this.#held.owned(id, owner)) return false;
    return (await this.#ask(key, () => session.ask(RAISE, [id.lock, owner, fencingToken]))).length > 0;
  }

  async inspect(key: string): Promise<LockState> {
    const session = this.#session(key);
    const id = lockId(key);
    const held = this.#held.find(id);
    if (held) this.#held.expire(held);
    const [row = {}] = await this.#ask(key, () => session.ask(INSPECT, [id.lock]));
    const keptMs = Number(row['kept_ms'] ?? 0);
    if (row['locked'] !== 't' && keptMs <= 0) return { locked: false };
    const remainingMs = this.#held.find(id)?.lease.remaining ?? (keptMs > 0 ? keptMs : undefined);
    return {
      locked: true,
      ...(row['owner'] ? { owner: row['owner'] } : {}),
      ...(row['token'] ? { fencingToken: Number(row['token']) } : {}),
      ...(remainingMs === undefined ? {} : { remainingMs: Math.ceil(remainingMs) }),
    };
  }

  onFree(key: string, wake: () => void): () => void {
    return this.#free.subscribe(key, wake);
  }

  onLoss(key: string, owner: string, lost: () => void): () => void {
    const held = this.#held.owned(lockId(key), owner);
    // Gone between its grant and this call: said as soon as the caller can hear it.
    const listeners = held?.listeners ?? new Set();
    listeners.add(lost);
    if (!held) queueMicrotask(() => listeners.has(lost) && lost());
    return () => void listeners.delete(lost);
  }

  async close(): Promise<void> {
    await this.#keeper.close(GOODBYE_MS);
  }

  async #attempt(session: Session, key: string, id: LockId, owner: string, ttlMs: number): Promise<AcquireResult> {
    this.#cover(session, ttlMs);
    const [row = {}] = await this.#ask(key, async () => {
      try {
        return await session.ask(ACQUIRE, [id.lock, readable(key), owner]);
      } catch (error) {
        this.#undo(session, id);
        throw error;
      }
    });
    // Its answer and the end of the connection may come in one packet.
    if (session.lost) this.#unavailable(key, session.lost);
    if (row['token']) {
      this.#held.add(key, id, owner, ttlMs);
      return { acquired: true, fencingToken: Number(row['token']) };
    }
    const keptMs = Number(row['kept_ms'] ?? 0);
    return keptMs > 0 ? { acquired: false, retryAfterMs: keptMs } : { acquired: false };
  }

  async #giveBack(session: Session, { key, id, owner }: HeldKey, keepForMs: number): Promise<void> {
    const [row] = await this.#ask(key, async () => {
      try {
        return await (keepForMs > 0
          ? session.ask(RELEASE_KEEPING, [id.lock, readable(key), owner, keepForMs])
          : session.ask(RELEASE, [id.lock, id.waiters]));
      } catch (error) {
        this.#undo(session, id);
        throw error;
      }
    });
    if (row?.['freed'] !== 't') {
      const reason = new Error('the session no longer had a lock that it was to give back');
      session.lose(reason);
      this.#unavailable(key, reason);
    }
    this.#free.wake(id.lock);
  }

  #expired(held: HeldKey): void {
    tellLost(held);
    // Nobody waits for it; if it fails, the session is gone, and the lock with it.
    this.#giveBack(this.#session(held.key), held, 0).catch(() => undefined);
  }

  /** The server must not end the session of a frozen holder before its lease is over. Answered before anything that is asked later. */
  #cover(session: Session, ttlMs: number): void {
    const limitMs = idleLimitMs(this.settings, ttlMs);
    if (limitMs <= this.#idleLimitMs) return;
    this.#idleLimitMs = limitMs;
    session.ask(idleLimit(limitMs)).catch((error: Error) => session.lose(error));
  }

  #undo(session: Session, id: LockId): void {
    session.ask(UNDO, [id.lock]).catch((error: Error) => session.lose(error));
  }

  #session(key: string): Session {
    try {
      return this.#keeper.session;
    } catch (error) {
      return this.#unavailable(key, error);
    }
  }

  async #ask(key: string, ask: () => Promise<readonly Row[]>): Promise<readonly Row[]> {
    return ask().catch((error: unknown) => this.#unavailable(key, error));
  }

  #unavailable(key: string, cause: unknown): never {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new LockUnavailableError(key, [{ node: this.#name, reason }]);
  }
}

function tellLost({ listeners }: HeldKey): void {
  for (const lost of [...listeners]) lost();
}

function settled(attempt: Promise<unknown>): Promise<void> {
  return attempt.then(
    () => undefined,
    () => undefined,
  );
}
