import { Deadline, now } from '../deadline.js';
import { systemRuntime, type Runtime } from '../runtime.js';
import type { AcquireResult, KeyPage, KeyQuery, LockState, LockStore } from './lock-store.js';

interface Entry {
  owner: string;
  /** False once released with `keepForMs`: taken, but nobody's to renew. */
  owned: boolean;
  token: number;
  lease: Deadline;
}

/** Every so many grants, what expired unreleased is swept out. */
const SWEEP_EVERY = 1024;

/** Locks inside one process: for tests, for development, and for a service that runs as a single instance. */
export class MemoryStore implements LockStore {
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Map<string, Set<() => void>>();
  /** One counter for all keys: each key's tokens rise, and no memory is kept for keys that are free. Clock-shaped, so that a restart does not repeat tokens. */
  #lastToken = 0;
  #grants = 0;

  constructor(private readonly runtime: Runtime = systemRuntime) {}

  async acquire(key: string, owner: string, ttlMs: number): Promise<AcquireResult> {
    const entry = this.#taken(key);
    if (entry) return { acquired: false, retryAfterMs: Math.ceil(entry.lease.remaining) };
    if (++this.#grants % SWEEP_EVERY === 0) this.#sweep();
    this.#lastToken = Math.max(this.#lastToken + 1, Math.floor(this.runtime.clock.wall() * 1000));
    this.#entries.set(key, { owner, owned: true, token: this.#lastToken, lease: this.#lease(ttlMs) });
    return { acquired: true, fencingToken: this.#lastToken };
  }

  async renew(key: string, owner: string, ttlMs: number): Promise<boolean> {
    const entry = this.#owned(key, owner);
    if (entry) entry.lease = this.#lease(ttlMs);
    return entry !== undefined;
  }

  async release(key: string, owner: string, keepForMs = 0): Promise<boolean> {
    const entry = this.#owned(key, owner);
    if (!entry) return false;
    if (keepForMs > 0) {
      entry.owned = false;
      entry.lease = this.#lease(keepForMs);
    } else {
      this.#free(key);
    }
    return true;
  }

  async raise(key: string, owner: string, fencingToken: number): Promise<boolean> {
    const entry = this.#owned(key, owner);
    if (!entry || entry.token > fencingToken) return false;
    entry.token = fencingToken;
    this.#lastToken = Math.max(this.#lastToken, fencingToken);
    return true;
  }

  async inspect(key: string): Promise<LockState> {
    const entry = this.#taken(key);
    if (!entry) return { locked: false };
    return {
      locked: true,
      owner: entry.owner,
      remainingMs: Math.ceil(entry.lease.remaining),
      fencingToken: entry.token,
      ...(entry.owned ? {} : { released: true }),
      waiters: this.#listeners.get(key)?.size ?? 0,
    };
  }

  /** In the order of the keys, of which the last is the cursor. */
  async list({ prefix, limit, cursor }: KeyQuery): Promise<KeyPage> {
    const follows = (key: string): boolean => cursor === undefined || key > cursor;
    const found = [...this.#entries.keys()].filter((key) => key.startsWith(prefix) && follows(key) && this.#taken(key));
    const page = found.sort(byCodeUnit).slice(0, limit);
    const keys = await Promise.all(page.map(async (key) => ({ key, ...(await this.inspect(key)) })));
    return found.length > page.length ? { keys, cursor: page.at(-1)! } : { keys };
  }

  async forceRelease(key: string): Promise<boolean> {
    const wasTaken = this.#taken(key) !== undefined;
    if (wasTaken) this.#free(key);
    return wasTaken;
  }

  onFree(key: string, wake: () => void): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(wake));
    return () => {
      listeners.delete(wake);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }

  #free(key: string): void {
    this.#entries.delete(key);
    for (const wake of [...(this.#listeners.get(key) ?? [])]) wake();
  }

  #lease(ms: number): Deadline {
    return new Deadline(this.runtime.clock, now(this.runtime.clock), ms);
  }

  #taken(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry && entry.lease.remaining > 0 ? entry : undefined;
  }

  #owned(key: string, owner: string): Entry | undefined {
    const entry = this.#taken(key);
    return entry?.owned && entry.owner === owner ? entry : undefined;
  }

  #sweep(): void {
    for (const [key, { lease }] of this.#entries) if (lease.remaining <= 0) this.#entries.delete(key);
  }
}

function byCodeUnit(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
