import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisServer } from '../support/redis-server.js';
import type { Prng } from '../simulation/prng.js';

/** Lets one node at a time crash and come back empty, or hang. */
export class NodeFaults {
  readonly count = { restart: 0, freeze: 0 };
  #ended = false;

  constructor(
    private readonly nodes: readonly RedisServer[],
    private readonly random: Prng,
    private readonly ttlMs: number,
  ) {}

  async run(): Promise<void> {
    while (!this.#ended) {
      const node = this.random.pick(this.nodes);
      const fault = this.random.pick(['restart', 'freeze'] as const);
      const forMs = this.random.between(0, this.ttlMs);
      this.count[fault]++;
      if (fault === 'freeze') {
        node.freeze();
        await sleep(forMs);
        node.thaw();
      } else {
        await node.kill();
        await sleep(forMs);
        await node.restart();
      }
      // At times the next fault comes while a node that came back empty still abstains.
      await sleep(this.random.between(0, 2 * this.ttlMs));
    }
  }

  end(): void {
    this.#ended = true;
  }
}
