import type { NodeReply, NodeRequest } from '../../../../lib/stores/redis/lock-node.js';

export interface ModelTerms {
  readonly retentionMs: number;
  readonly quarantineMs: number;
}

export interface Entry<T> {
  readonly value: T;
  readonly expiresAt: number;
}

const DONE: NodeReply = { status: 'yes', value: 0 };
const REFUSED: NodeReply = { status: 'no', value: 0 };

/**
 * What the Lua script does to one Redis, in memory. lock-script.spec.ts holds the two against each other, so that what is proved of the protocol over this
 * model holds for the script as well. The node's clock comes from outside; while it stands still nothing expires unless told to.
 */
export class ModelNode {
  protected readonly locks = new Map<string, Entry<string>>();
  protected readonly fences = new Map<string, Entry<number>>();
  #markedAt: number | undefined;

  constructor(
    protected readonly terms: ModelTerms,
    /** In whole ms, as Redis counts. */
    protected readonly clock: () => number,
  ) {}

  serve(request: NodeRequest): NodeReply {
    switch (request.verb) {
      case 'acquire':
        return this.acquire(request);
      case 'heal':
        return this.heal(request);
      case 'queue':
      case 'leave':
        throw new Error('This model keeps no line: LinedNode does');
      case 'mark':
        return { status: 'yes', value: this.quarantinedFor() };
      case 'inspect':
        return this.inspect(request);
      case 'renew':
      case 'commit':
      case 'release':
      case 'undo':
        if (this.holder(request.key) !== request.owner) return this.notHeld(request);
        return this[request.verb](request);
    }
  }

  holder(key: string): string | undefined {
    return this.read(this.locks, key);
  }

  fence(key: string): number {
    return this.read(this.fences, key) ?? 0;
  }

  /** Ms until the lock expires; -2 without one, as PTTL. */
  remaining(key: string): number {
    return this.holder(key) === undefined ? -2 : this.locks.get(key)!.expiresAt - this.clock();
  }

  /** Ms until the fence is forgotten; -2 without one. */
  fenceRemaining(key: string): number {
    return this.read(this.fences, key) === undefined ? -2 : this.fences.get(key)!.expiresAt - this.clock();
  }

  expireLock(key: string): void {
    this.locks.delete(key);
  }

  expireFence(key: string): void {
    this.fences.delete(key);
  }

  /** An empty restart, or FLUSHALL. */
  forgetAll(): void {
    this.locks.clear();
    this.fences.clear();
    this.#markedAt = undefined;
  }

  /** As of a node that has been up for long. */
  mark(): void {
    this.#markedAt = this.clock() - this.terms.quarantineMs;
  }

  protected nextToken(key: string, proposal: number): number {
    return Math.max(this.fence(key) + 1, proposal);
  }

  protected commit({ key, token }: NodeRequest): NodeReply {
    const passed = this.fence(key);
    if (passed > token) return { status: 'no', value: passed };
    this.remember(key, token, Math.max(this.remaining(key), 0));
    return DONE;
  }

  /** A renew, commit or release by someone who is not, or no longer, the holder. */
  protected notHeld(_request: NodeRequest): NodeReply {
    return REFUSED;
  }

  protected remember(key: string, token: number, ms: number): void {
    this.write(this.fences, key, token, this.terms.retentionMs + ms);
  }

  protected grant({ key, owner, ms, token }: NodeRequest): NodeReply {
    this.write(this.locks, key, owner, ms);
    const given = this.nextToken(key, token);
    this.remember(key, given, ms);
    return { status: 'yes', value: given };
  }

  /** Why nothing is given out, whoever asks. */
  protected abstention(key: string): NodeReply | undefined {
    const quarantined = this.quarantinedFor();
    if (quarantined <= 0) return undefined;
    return this.holder(key) === undefined ? { status: 'quarantined', value: quarantined } : this.taken(key);
  }

  protected taken(key: string): NodeReply {
    return { status: 'no', value: this.remaining(key), holder: this.holder(key)! };
  }

  private acquire(request: NodeRequest): NodeReply {
    const abstention = this.abstention(request.key);
    if (abstention) return abstention;
    return this.holder(request.key) === undefined ? this.grant(request) : this.taken(request.key);
  }

  private heal({ key, owner, ms, token }: NodeRequest): NodeReply {
    if (this.holder(key) !== undefined) return REFUSED;
    this.write(this.locks, key, owner, ms);
    this.remember(key, Math.max(this.fence(key), token), ms);
    return DONE;
  }

  private inspect({ key }: NodeRequest): NodeReply {
    const owner = this.holder(key);
    if (owner === undefined) return { status: 'no', value: this.fence(key) };
    return { status: 'yes', value: this.fence(key), state: { owner, remainingMs: this.remaining(key) } };
  }

  private renew({ key, owner, ms }: NodeRequest): NodeReply {
    this.write(this.locks, key, owner, ms);
    const fence = this.read(this.fences, key);
    if (fence !== undefined) this.remember(key, fence, ms);
    return { status: 'yes', value: fence ?? 0 };
  }

  private undo({ key }: NodeRequest): NodeReply {
    this.locks.delete(key);
    return DONE;
  }

  protected release({ key, owner, ms }: NodeRequest): NodeReply {
    if (ms > 0) this.write(this.locks, key, `released/${owner}`, ms);
    else this.locks.delete(key);
    return DONE;
  }

  private quarantinedFor(): number {
    const { quarantineMs } = this.terms;
    if (quarantineMs === 0) return 0;
    this.#markedAt ??= this.clock();
    return Math.min(this.#markedAt + quarantineMs - this.clock(), quarantineMs);
  }

  protected read<T>(entries: Map<string, Entry<T>>, key: string): T | undefined {
    const entry = entries.get(key);
    if (entry && entry.expiresAt > this.clock()) return entry.value;
    entries.delete(key);
    return undefined;
  }

  protected write<T>(entries: Map<string, Entry<T>>, key: string, value: T, ms: number): void {
    entries.set(key, { value, expiresAt: this.clock() + ms });
  }
}
