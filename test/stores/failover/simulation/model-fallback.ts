import { Deadline, now } from '../../../../lib/deadline.js';
import type { Authority, AuthorityState, PodReport } from '../../../../lib/stores/failover/authority.js';
import type { FallbackStore } from '../../../../lib/stores/failover/fallback-store.js';
import type { AcquireResult, LockState } from '../../../../lib/stores/lock-store.js';
import type { Link } from '../../../simulation/link.js';
import type { ModelPostgres, Session } from './model-postgres.js';
import type { SimProcess } from '../../../simulation/sim-process.js';

interface Entry {
  readonly key: string;
  readonly owner: string;
  lease: Deadline;
  lost: (() => void) | undefined;
}

interface Query {
  readonly run: (session: Session) => unknown;
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

const TIMEOUT_MS = 150;
const HEARTBEAT_MS = 100;

/** The client's half of a Postgres store: one session, queries one after the other, and all locks gone when it breaks. */
export class ModelFallback implements FallbackStore {
  readonly #entries = new Map<string, Entry>();
  #session: Session | undefined;
  #queries: Query[] = [];
  #busy = false;

  constructor(
    private readonly server: ModelPostgres,
    private readonly link: Link,
    private readonly process: SimProcess,
  ) {
    this.#connect();
    this.#beat();
  }

  /** The network under the connection broke, and says so. */
  broken(): void {
    this.process.run(() => this.#lose('connection broken'));
  }

  async acquire(): Promise<AcquireResult> {
    throw new Error('Nothing is granted here without a look at the row');
  }

  async acquireUnder(
    state: 'POSTGRES' | 'BOTH',
    key: string,
    owner: string,
    ttlMs: number,
  ): Promise<AcquireResult | undefined> {
    if (this.#entries.has(key)) return { acquired: false };
    const entry = this.#enter(key, owner, ttlMs);
    try {
      const answer = await this.#query((session) => this.server.acquireUnder(session, state, key));
      if (answer.moved || answer.token === undefined) this.#leave(entry);
      if (answer.moved) return undefined;
      return answer.token === undefined ? { acquired: false } : { acquired: true, fencingToken: answer.token };
    } catch (error) {
      this.#leave(entry);
      throw error;
    }
  }

  async carry(epoch: number, key: string, owner: string, ttlMs: number, token: number): Promise<boolean | undefined> {
    const present = this.#entries.get(key);
    if (present && present.owner !== owner) return false;
    const entry = present ?? this.#enter(key, owner, ttlMs);
    const lease = this.#lease(ttlMs);
    try {
      const carried = await this.#query((session) => this.server.carry(session, epoch, key, token));
      if (carried) entry.lease = lease;
      else if (!present) this.#leave(entry);
      return carried;
    } catch (error) {
      if (!present) this.#leave(entry);
      throw error;
    }
  }

  async renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    return this.#extend(key, owner, ttlMs, () => true) as Promise<boolean>;
  }

  async renewAlone(key: string, owner: string, ttlMs: number, alone: boolean): Promise<boolean | undefined> {
    return this.#extend(key, owner, ttlMs, (session) => this.server.setAlone(session, key, alone));
  }

  async release(key: string, owner: string, keepForMs = 0): Promise<boolean> {
    const entry = this.#entry(key, owner);
    if (!entry) return false;
    this.#leave(entry);
    return this.#query((session) => this.server.unlock(session, key, keepForMs));
  }

  async raise(key: string, owner: string, token: number): Promise<boolean> {
    if (!this.#entry(key, owner)) return false;
    return this.#query((session) => this.server.raise(session, key, token));
  }

  consult(report: PodReport): Promise<Authority> {
    return this.#query(() => this.server.consult(report));
  }

  move(epoch: number, to: AuthorityState, reason: string): Promise<Authority> {
    return this.#query(() => this.server.move(epoch, to, reason));
  }

  async inspect(): Promise<LockState> {
    return { locked: false };
  }

  onLoss(key: string, owner: string, lost: () => void): () => void {
    const entry = this.#entry(key, owner);
    if (!entry) {
      lost();
      return () => undefined;
    }
    entry.lost = lost;
    return () => (entry.lost = undefined);
  }

  async #extend(
    key: string,
    owner: string,
    ttlMs: number,
    run: (session: Session) => boolean | undefined,
  ): Promise<boolean | undefined> {
    const entry = this.#entry(key, owner);
    if (!entry) return false;
    const lease = this.#lease(ttlMs);
    const ours = await this.#query(run);
    if (ours) entry.lease = lease;
    return ours;
  }

  #query<T>(run: (session: Session) => T): Promise<T> {
    if (!this.#session || this.link.refused) return Promise.reject(new Error('not connected'));
    return new Promise<T>((resolve, reject) => {
      this.#queries.push({ run, resolve, reject });
      this.#sendNext();
    });
  }

  #sendNext(): void {
    const [query] = this.#queries;
    const session = this.#session;
    if (this.#busy || !query || !session) return;
    this.#busy = true;
    const cancel = this.process.timers.start(() => this.#lose('no answer'), TIMEOUT_MS);
    this.link.send(
      () => this.#serve(session, query),
      (answer) => {
        cancel();
        if (session !== this.#session) return;
        if (answer === 'ended') return this.#lose('session ended');
        this.#busy = false;
        this.#queries.shift();
        query.resolve(answer.value as never);
        this.#sendNext();
      },
    );
  }

  #serve(session: Session, query: Query): 'ended' | { readonly value: unknown } {
    if (!this.server.alive(session)) return 'ended';
    const value = query.run(session);
    session.lastHeardAt = Math.max(session.lastHeardAt, this.server.now);
    return { value };
  }

  #lose(why: string): void {
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    this.#busy = false;
    // The server hears of it, unless the network is silent: then only its patience ends the session.
    this.link.send(
      () => this.server.end(session),
      () => undefined,
    );
    for (const { reject } of this.#queries.splice(0)) reject(new Error(why));
    for (const entry of [...this.#entries.values()]) {
      this.#leave(entry);
      entry.lost?.();
    }
    this.#connect();
  }

  #connect(): void {
    this.process.timers.start(() => {
      if (this.#session) return;
      let opened = false;
      this.link.send(
        () => this.server.begin(this.process.name),
        (session) => {
          if (this.#session) return;
          opened = true;
          this.#session = session;
        },
      );
      this.process.timers.start(() => opened || this.#connect(), TIMEOUT_MS);
    }, 20);
  }

  /** Keeps the session, and gives back what nobody renewed. */
  #beat(): void {
    for (const { key, owner, lease } of this.#entries.values()) {
      if (lease.remaining <= 0) this.release(key, owner).catch(() => undefined);
    }
    if (!this.#busy) this.#query(() => undefined).catch(() => undefined);
    this.process.timers.start(() => this.#beat(), HEARTBEAT_MS);
  }

  #lease(ttlMs: number): Deadline {
    return new Deadline(this.process.clock, now(this.process.clock), ttlMs);
  }

  #enter(key: string, owner: string, ttlMs: number): Entry {
    const entry = { key, owner, lease: this.#lease(ttlMs), lost: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  #entry(key: string, owner: string): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry?.owner === owner ? entry : undefined;
  }

  #leave(entry: Entry): void {
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
  }
}
