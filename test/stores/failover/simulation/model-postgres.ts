import type { Authority, AuthorityState, PodReport } from '../../../../lib/stores/failover/authority.js';

/** One connection of a process, as the server sees it. */
export interface Session {
  readonly pod: string;
  lastHeardAt: number;
  ended: boolean;
}

interface Fence {
  token: number;
  keptUntil: number;
}

/** 60 s in tokens, which have the unit of a µs. */
const RANGE = 60_000_000;
const EPOCH_MS = 1_800_000_000_000;
const NO_FENCE: Fence = { token: 0, keptUntil: 0 };

/** What Postgres keeps, and what it does for each statement: at once, and wholly or not at all. */
export class ModelPostgres {
  frozen = false;
  down = false;
  carried = 0;
  readonly #row = { state: 'REDIS' as AuthorityState, epoch: 1, reason: 'start', leaseMs: 0, ttlMs: 0 };
  protected tokenFloor = 0;
  protected tokenLead = 0;
  protected tokenCeiling = 0;
  readonly #pods = new Map<string, { readonly redis: PodReport['redis']; readonly until: number }>();
  readonly #locks = new Map<string, { session: Session; alone: boolean }>();
  readonly #fences = new Map<string, Fence>();

  constructor(
    private readonly nowMs: () => number,
    private readonly sessionTimeoutMs: number,
  ) {}

  get now(): number {
    return this.nowMs();
  }

  get state(): AuthorityState {
    return this.#row.state;
  }

  begin(pod: string): Session {
    return { pod, lastHeardAt: this.nowMs(), ended: false };
  }

  /** The server ends a session that has been silent for too long. */
  alive(session: Session): boolean {
    if (!session.ended && this.nowMs() - session.lastHeardAt > this.sessionTimeoutMs) this.end(session);
    return !session.ended;
  }

  end(session: Session): void {
    session.ended = true;
    for (const [key, lock] of this.#locks) if (lock.session === session) this.#locks.delete(key);
  }

  /** The process is gone, and its connections with it. */
  endOf(pod: string): void {
    for (const { session } of [...this.#locks.values()]) if (session.pod === pod) this.end(session);
  }

  acquireUnder(
    session: Session,
    state: AuthorityState,
    key: string,
  ): { readonly moved: true } | { readonly moved: false; readonly token: number | undefined } {
    if (this.#row.state !== state) return { moved: true };
    const fence = this.#fences.get(key) ?? NO_FENCE;
    if (this.#taken(key) || fence.keptUntil > this.nowMs()) return { moved: false, token: undefined };
    this.#locks.set(key, { session, alone: state === 'POSTGRES' });
    const token = this.nextToken(fence.token);
    this.#fences.set(key, { token, keptUntil: 0 });
    return { moved: false, token };
  }

  carry(session: Session, epoch: number, key: string, token: number): boolean | undefined {
    if (this.#row.state !== 'DRAINING' || !this.isEpoch(epoch)) return undefined;
    const taken = this.#taken(key);
    if (taken && taken.session !== session) return false;
    this.#locks.set(key, { session, alone: true });
    this.carried++;
    this.#raise(key, token);
    return true;
  }

  setAlone(session: Session, key: string, alone: boolean): boolean | undefined {
    const lock = this.#taken(key);
    if (alone && this.#row.state !== 'POSTGRES') return undefined;
    if (lock?.session !== session) return false;
    lock.alone = alone;
    return true;
  }

  unlock(session: Session, key: string, keepForMs: number): boolean {
    if (this.#taken(key)?.session !== session) return false;
    this.#locks.delete(key);
    if (keepForMs > 0) this.#fences.get(key)!.keptUntil = this.nowMs() + keepForMs;
    return true;
  }

  raise(session: Session, key: string, token: number): boolean {
    if (this.#taken(key)?.session !== session || this.#fences.get(key)!.token > token) return false;
    this.#raise(key, token);
    return true;
  }

  consult(report: PodReport): Authority {
    const row = this.#row;
    row.leaseMs = Math.max(row.leaseMs, report.leaseMs);
    row.ttlMs = Math.max(row.ttlMs, report.ttlMs);
    if (row.state === 'REDIS') {
      const highest = Math.max(this.#clock + this.tokenLead, report.tokenSeen, this.tokenFloor);
      this.tokenCeiling = Math.max(this.tokenCeiling, highest + RANGE);
    }
    this.#pods.set(report.pod, { redis: report.redis, until: this.nowMs() + report.countsForMs });
    return this.#read();
  }

  move(epoch: number, to: AuthorityState, reason: string): Authority {
    const row = this.#row;
    const back = row.state === 'BOTH' && to === 'REDIS';
    const kept = back && [...this.#fences.values()].some(({ keptUntil }) => keptUntil > this.nowMs());
    if (row.epoch !== epoch || (to === 'REDIS' && (this.anyAlone || kept))) return this.#read();
    if (back) this.tokenFloor = this.floorAfter([...this.#fences.values()].map(({ token }) => token));
    if (back) this.tokenLead = this.leadAfter(Math.max(0, this.tokenFloor - this.#clock));
    Object.assign(row, { state: to, epoch: epoch + 1, reason });
    return this.#read();
  }

  protected get anyAlone(): boolean {
    return [...this.#locks.keys()].some((key) => this.#taken(key)?.alone);
  }

  protected isEpoch(epoch: number): boolean {
    return this.#row.epoch === epoch;
  }

  protected nextToken(last: number): number {
    return Math.max(last + 1, this.#clock, this.tokenCeiling + 1);
  }

  protected leadAfter(lead: number): number {
    return lead;
  }

  protected floorAfter(tokens: readonly number[]): number {
    return Math.max(this.tokenFloor, this.tokenCeiling, ...tokens);
  }

  get #clock(): number {
    return Math.floor((EPOCH_MS + this.nowMs()) * 1000);
  }

  #raise(key: string, token: number): void {
    const { token: last } = this.#fences.get(key) ?? NO_FENCE;
    this.#fences.set(key, { token: Math.max(last, token), keptUntil: 0 });
  }

  #taken(key: string): { session: Session; alone: boolean } | undefined {
    const lock = this.#locks.get(key);
    return lock && this.alive(lock.session) ? lock : undefined;
  }

  #read(): Authority {
    const counting = [...this.#pods.values()].filter(({ until }) => until > this.nowMs());
    const those = (redis: PodReport['redis']): number => counting.filter((pod) => pod.redis === redis).length;
    const { tokenFloor, tokenLead, tokenCeiling } = this;
    return {
      ...{ ...this.#row, tokenFloor, tokenLead, tokenCeiling },
      pods: { all: counting.length, down: those('down'), up: those('up') },
    };
  }
}
