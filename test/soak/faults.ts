import { setTimeout as sleep } from 'node:timers/promises';
import type { Prng } from '../simulation/prng.js';

export interface Fault {
  readonly name: string;
  /** It lasts so long at least. */
  readonly leastMs: number;
  begin(): Promise<void>;
  end(): Promise<void>;
}

/** Lets one fault after the other happen. */
export class Faults {
  readonly count = new Map<string, number>();
  #ended = false;

  constructor(
    private readonly faults: readonly Fault[],
    private readonly random: Prng,
    private readonly ttlMs: number,
  ) {}

  async run(): Promise<void> {
    while (!this.#ended) {
      const fault = this.random.pick(this.faults);
      this.count.set(fault.name, (this.count.get(fault.name) ?? 0) + 1);
      await fault.begin();
      await sleep(fault.leastMs + this.random.between(0, 1.5 * this.ttlMs));
      await fault.end();
      // At times the next fault comes while a node that came back empty still abstains.
      await sleep(this.random.between(0, 2 * this.ttlMs));
    }
  }

  end(): void {
    this.#ended = true;
  }
}
