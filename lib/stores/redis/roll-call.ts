import { LockOptionsError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import { Fitness } from './fitness.js';
import type { RedisClient } from './redis-client.js';

/** The nodes of one store, and whether each is fit and another one. What is found before the store is open refuses it; what is found later is logged. */
export class RollCall {
  readonly #enlisted: Fitness[] = [];
  #open = false;

  constructor(
    private readonly log: (message: string) => void,
    private readonly runtime: Pick<Runtime, 'clock' | 'timers'>,
  ) {}

  enlist(client: RedisClient, name: string, guarded: boolean): Fitness {
    const looked = (fitness: Fitness): void => this.#looked(fitness);
    const fitness = new Fitness(client, { name, guarded, log: this.log, looked }, this.runtime);
    this.#enlisted.push(fitness);
    return fitness;
  }

  /** @throws LockOptionsError for a node that can never be of use here. Nodes that are not connected are no reason to wait. */
  async check(): Promise<void> {
    await Promise.all(this.#enlisted.map((fitness) => fitness.settled()));
    this.#open = true;
    for (const fitness of this.#enlisted) {
      const complaint = this.#complaint(fitness);
      if (complaint !== undefined) throw new LockOptionsError('nodes', fitness.name, `${complaint}.`);
    }
  }

  #looked(fitness: Fitness): void {
    if (!this.#open) return;
    const complaint = this.#complaint(fitness);
    if (complaint !== undefined) fitness.say(`Redis node ${fitness.name}: ${complaint}.`);
  }

  #complaint(fitness: Fitness): string | undefined {
    if (fitness.misuse !== undefined) return fitness.misuse;
    const twin = this.#enlisted.find(
      (other) => other !== fitness && other.runIds.some((id) => fitness.runIds.includes(id)),
    );
    return twin && `it leads to the same server as ${twin.name}, which would vote twice`;
  }
}
