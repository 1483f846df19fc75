import type { Clock } from '../../runtime.js';
import { Hold } from './hold.js';

/** Every so many, what expired unreleased is swept out. */
const SWEEP_EVERY = 1024;

/** What this process holds, by key and owner. */
export class Holds {
  readonly #holds = new Map<string, Hold>();
  #added = 0;

  constructor(private readonly clock: Clock) {}

  add(key: string, owner: string, token: number, ttlMs: number): Hold {
    if (++this.#added % SWEEP_EVERY === 0) this.#sweep();
    const hold = new Hold(key, owner, token);
    this.#holds.set(nameOf(key, owner), hold);
    this.prolong(hold, ttlMs);
    return hold;
  }

  find(key: string, owner: string): Hold | undefined {
    return this.#holds.get(nameOf(key, owner));
  }

  prolong(hold: Hold, ttlMs: number): void {
    hold.endsAt = this.clock.monotonic() + ttlMs;
  }

  remove({ key, owner }: Hold): void {
    this.#holds.delete(nameOf(key, owner));
  }

  #sweep(): void {
    const at = this.clock.monotonic();
    for (const hold of this.#holds.values()) {
      if (hold.endsAt > at) continue;
      hold.offPostgres();
      this.remove(hold);
    }
  }
}

function nameOf(key: string, owner: string): string {
  return `${owner} ${key}`;
}
